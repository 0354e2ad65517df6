"""User-defined aggregates in a SELECT: which there are, on bare streams, and answers of several columns."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import UserAggregate
from millstream.catalog.schema import Column
from millstream.catalog.select import AggregateCall
from millstream.errors import EslSyntaxError, Refused
from millstream.language.bind.scope import Scope, UserVersions
from millstream.language.clauses.over_clause import OverClause
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.windows.over_rows import OverRows


def user_versions(catalog: Catalog) -> dict[str, UserVersions]:
    """The user-defined aggregates of a catalog by name, each with its base and its window version."""
    found: dict[str, UserVersions] = {}
    for definition in catalog.all(UserAggregate):
        base, window = found.get(definition.name.lower(), (None, None))
        versions = (base, definition) if definition.window else (definition, window)
        found[definition.name.lower()] = versions
    return found


def bare_groups(query: exp.Select, scope: Scope, text: str) -> OverClause | None:
    """The frame of user-defined aggregates on a bare stream: all so far, per group; None if there are none."""
    called = [n for item in query.expressions for n in item.find_all(exp.Func) if _is_user(n, scope)]
    if not called:
        return None
    for node in called:
        base, _ = scope.aggregates[name_of_call(node) or ""]
        if base is None or (base.blocking and not scope.bounded):
            name = name_of_call(node)
            reason = "it answers only at the end of its input" if base else "it is declared for windows only"
            raise Refused(
                f"{name} cannot run on a bare stream: {reason}",
                text,
                span_of(node),
                clause="SELECT",
                hint=f"give it a window: {name}(...) [RANGE 1 MINUTE, WA ts], or OVER (RANGE 1 MINUTE PRECEDING)",
            )
    for key, word in {"having": "HAVING", "distinct": "DISTINCT"}.items():
        if (node := query.args.get(key)) is not None:
            hint = "filter the answers outside: SELECT ... FROM (SELECT ...) AS x WHERE ..."
            message = f"{word} cannot stand beside {name_of_call(called[0])}, which answers for every tuple"
            raise EslSyntaxError(message, text, span_of(node) or span_of(query), clause=word, hint=hint)
    group = query.args.get("group")
    keys = tuple(group.expressions) if group else ()
    _check_keys(query, keys, scope, text)
    return OverClause(keys, None, OverRows(None), span_of(called[0]) or (0, 0))


def columns_of_rows(
    expression: exp.Expression, node: exp.Expression, calls: Sequence[AggregateCall], text: str
) -> list[tuple[Column, exp.Expression]]:
    """The columns that an item becomes which is a call that returns rows of several columns; none if it is not."""
    several = {call.name: call for call in calls if call.rows is not None and len(call.rows) > 1}
    inside = [column.name for column in expression.find_all(exp.Column) if column.name in several]
    if not inside:
        return []
    call = several[inside[0]]
    rows = call.rows or ()
    if not isinstance(expression, exp.Column) or isinstance(node, exp.Alias):
        names = ", ".join(column.name for column in rows)
        raise EslSyntaxError(
            f"{call.text} returns several columns: {names}",
            text,
            span_of(node),
            clause="SELECT",
            hint="let it stand alone; to compute with them, put it into a subquery in FROM",
        )
    pairs = zip(rows, call.columns, strict=True)
    return [(column, _read(own.name, node)) for column, own in pairs]


def _read(name: str, node: exp.Expression) -> exp.Expression:
    """A column of the answer, which stands where the call does."""
    column = exp.column(exp.to_identifier(name, quoted=True))
    if span := span_of(node):
        column.this.meta.update(start=span[0], end=span[1] - 1)
    return column


def _is_user(node: exp.Expression, scope: Scope) -> bool:
    return name_of_call(node) in scope.aggregates


def _check_keys(query: exp.Select, keys: tuple[exp.Expression, ...], scope: Scope, text: str) -> None:
    """Beside the aggregate only what is the same for a whole group has a meaning."""
    known = {key.sql().lower() for key in keys} | {(scope.time or "").lower()}

    def stray(node: exp.Expression) -> exp.Expression | None:
        if node.sql().lower() in known or _is_user(node, scope):
            return None
        if isinstance(node, exp.Column):
            return node
        children = (c for c in node.iter_expressions() if isinstance(c, exp.Expression))
        return next((found for c in children if (found := stray(c)) is not None), None)

    for item in query.expressions:
        if (column := stray(item)) is not None:
            raise EslSyntaxError(
                f"'{column.name}' is neither grouped nor aggregated",
                text,
                span_of(column),
                clause="SELECT",
                hint="add it to GROUP BY",
            )
