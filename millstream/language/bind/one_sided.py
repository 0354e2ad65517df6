"""Parts of a join's condition that read one input alone: Spark computes them before the join.

Whether a pair matches is known where pairs are made, and not every function is at hand there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.catalog.definitions import Item
from millstream.catalog.schema import SqlType
from millstream.errors import NotYet
from millstream.expressions.build.predicates import unsupported
from millstream.expressions.build.reading import columns_of, draws_lots
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import Span
from millstream.language.parse.written import stands_for, told, written
from millstream.language.types.infer import infer
from millstream.windows.join_kind import JoinKind


@dataclass
class OneSided:
    """Takes such parts out of conditions; `items` are the columns to compute of each input, by their number."""

    inputs: Sequence[Mapping[str, SqlType]]
    items: tuple[list[Item], list[Item]] = field(default_factory=lambda: ([], []))

    def taken_from(self, condition: exp.Expression) -> exp.Expression:
        """The condition with columns in the place of what is to be computed before."""
        if unsupported(condition) is None:
            return condition
        whole = exp.Paren(this=condition.copy())
        infer(whole, {**self.inputs[0], **self.inputs[1]})
        self._take(whole.this)
        return cast("exp.Expression", whole.this)

    def _take(self, node: exp.Expr) -> None:
        found = self._computed(node)
        if found is not None:
            node.replace(found)
            return
        for child in list(node.iter_expressions()):
            self._take(child)

    def _computed(self, node: exp.Expr) -> exp.Expression | None:
        """The column of a part that is computed before; None if it cannot be, or need not."""
        type_ = node.type
        if (
            not (isinstance(node, exp.Condition) and isinstance(node, exp.Expression))
            or not isinstance(type_, exp.DataType)
            or to_arrow(type_) is None
        ):
            return None
        side = next((i for i, columns in enumerate(self.inputs) if columns_of(node) <= columns.keys()), None)
        if side is None or unsupported(node) is None or draws_lots(node):
            return None
        known = next((i for i in self.items[side] if i.expression == node), None)
        if known is None:
            known = Item(_name(node, side), node.copy(), type_)
            self.items[side].append(known)
        column: exp.Expression = exp.column(exp.to_identifier(known.name, quoted=True))
        column.type = type_
        return stands_for(column, node)


def _name(node: exp.Expr, side: int) -> str:
    """A name that tells what it is: no name of a user has a colon, and PySpark takes a dot for a field."""
    return f"{side}:{written(node)}".replace(".", "\N{MIDDLE DOT}").replace("`", "'")


def check_pairs(conditions: Sequence[exp.Expression], kind: JoinKind, text: str, span: Span | None) -> None:
    """Refuse what is left of conditions if it cannot be computed where pairs are made."""
    for condition in conditions:
        if (part := unsupported(condition)) is not None:
            message = (
                f"{told(part)} in the condition of a {kind.value} join needs both inputs at once, or is another value "
                "each time: this version can run that in inner joins only"
            )
            hint = "write it so that each function reads the columns of one input only"
            raise NotYet(message, text, span_of(part) or span_of(condition) or span, clause="ON", hint=hint)
