"""The clauses that need an end: DISTINCT, ORDER BY, LIMIT and OFFSET. They are for tables; streams refuse them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from millstream.catalog.schema import Schema
from millstream.catalog.select import Item, SortKey
from millstream.errors import EslSyntaxError, NotYet, Refused
from millstream.expressions.build.bound import tree_of
from millstream.language.bind.expressions import WINDOW_HINT, bind_expression
from millstream.language.bind.scope import Scope
from millstream.language.parse.spans import span_of

BindKey = Callable[[exp.Expression], exp.Expression]


def refuse_unbounded(query: exp.Select, scope: Scope, text: str) -> None:
    """Refuse the clauses that need an end, on a stream."""
    reasons = {
        "group": ("GROUP BY", "a group is complete only when the stream ends"),
        "having": ("HAVING", "a group is complete only when the stream ends"),
        "distinct": ("DISTINCT", "it would have to remember every row for ever"),
        "order": ("ORDER BY", "the first row can be told only when the stream has ended"),
        "limit": ("LIMIT", "which rows come first depends on arrival, and the stream goes on"),
        "offset": ("OFFSET", "which rows come first depends on arrival, and the stream goes on"),
    }
    for key, (clause, reason) in reasons.items():
        node = query.args.get(key)
        if node is None:
            continue
        where = span_of(node) or span_of(query)
        if not scope.bounded:
            raise Refused(
                f"{clause} on the stream {scope.name} would block for ever: {reason}",
                text,
                where,
                clause=clause,
                hint=WINDOW_HINT if key in {"group", "having", "distinct"} else "leave it out, or use it on a table",
            )
        if key in {"group", "having"}:
            raise NotYet(
                f"{clause} on a table is part of the language, but this version cannot run it yet",
                text,
                span_of(node),
                clause=clause,
                hint="docs/language.md lists what works",
            )


def bounded_clauses(query: exp.Select, items: tuple[Item, ...], text: str, bind_key: BindKey) -> dict[str, object]:
    """DISTINCT, ORDER BY, LIMIT and OFFSET; `bind_key` binds a term that is no column of the result."""
    order = query.args.get("order")
    distinct = query.args.get("distinct") is not None
    return {
        "distinct": distinct,
        "order": tuple(_order_term(o, items, distinct, text, bind_key) for o in (order.expressions if order else ())),
        "limit": _number(query.args.get("limit"), text, "LIMIT"),
        "offset": _number(query.args.get("offset"), text, "OFFSET"),
    }


def _order_term(term: exp.Expression, items: tuple[Item, ...], distinct: bool, text: str, bind_key: BindKey) -> SortKey:
    """An ORDER BY term over the columns of the result (by name) or of the input; after DISTINCT, of the result only."""
    key = term.this if isinstance(term, exp.Ordered) else term
    aliases = {i.name.lower(): i.expression for i in items}
    if isinstance(key, exp.Literal) and not key.is_string:
        if not key.name.isdigit() or not 1 <= int(key.name) <= len(items):
            hint = f"name a column, or its place from 1 to {len(items)}"
            raise EslSyntaxError(
                f"the result has no column {key.name}", text, span_of(key), clause="ORDER BY", hint=hint
            )
        key = exp.column(exp.to_identifier(items[int(key.name) - 1].name, quoted=True))
    if distinct:
        scope = Scope("the result", Schema(i.column for i in items), bounded=True)
        bound = tree_of(bind_expression(key, scope, text, "ORDER BY")[0])
    elif isinstance(key, exp.Column) and not key.table and key.name.lower() in aliases:
        bound = aliases[key.name.lower()]
    else:
        bound = tree_of(bind_key(key))
    if isinstance(term, exp.Ordered):
        return SortKey(bound, bool(term.args.get("desc")), bool(term.args.get("nulls_first")))
    return SortKey(bound)


def _number(node: exp.Expression | None, text: str, clause: str) -> int | None:
    if node is None:
        return None
    value = node.expression
    if not isinstance(value, exp.Literal) or value.is_string or not value.name.isdigit():
        raise EslSyntaxError("expected a whole number", text, span_of(node), clause=clause, hint=f"write {clause} 10")
    return int(value.name)
