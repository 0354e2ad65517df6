"""Parameters that are hidden by columns: a bare name is then the column, and seldom is that meant beside the column."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import UnknownName
from millstream.language.parse.spans import span_of
from millstream.udas.bind.scope import Aggregate, Names

_SAME = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Add, exp.Sub, exp.Div)
"""Where a column beside itself says nothing."""


def check_names(aggregate: Aggregate) -> None:
    """Refuse a bare name beside the same column, once a statement is bound: the parameter must have been meant."""
    names, aggregate.names = aggregate.names, Names()
    aggregate.hidden |= {hidden.node.name.lower() for hidden in names.hidden}
    beside = {(id(_term(node)), column) for node, column in names.qualified}
    for hidden in names.hidden:
        if (id(_term(hidden.node)), hidden.column) not in beside and not _beside_itself(hidden.node):
            continue
        name = hidden.node.name
        raise UnknownName(
            f"'{name}' is the column of {hidden.table} here, which hides the parameter of that name",
            aggregate.text,
            span_of(hidden.node),
            clause=hidden.clause,
            hint=f"write {aggregate.name}.{name} for the parameter, {hidden.table}.{name} for the column",
        )


def _term(node: exp.Expr) -> exp.Expr:
    """The whole that a name is a part of: a condition of those that AND and OR join, or a value."""
    while node.parent is not None and not isinstance(node.parent, exp.Connector | exp.Not | exp.Query):
        node = node.parent
    return node


def _beside_itself(node: exp.Column) -> bool:
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    if not isinstance(above, _SAME):
        return False
    sides = [side.unnest() for side in (above.this, above.expression)]
    return all(isinstance(s, exp.Column) and not s.table and s.name.lower() == node.name.lower() for s in sides)
