"""UNION ALL, UNION and MERGE ORDERED: several SELECTs as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sqlglot import exp

from millstream.catalog.schema import SqlType, type_name
from millstream.catalog.select import Item, Select, UnionKind, UnionSpec
from millstream.errors import EslSyntaxError, Refused, TypeMismatch
from millstream.expressions.build.bound import cast_to, column_of
from millstream.expressions.tree import Value
from millstream.language.bind.bounded import bounded_clauses, refuse_unbounded
from millstream.language.bind.expressions import bind_expression
from millstream.language.bind.scope import Scope
from millstream.language.parse.spans import span_of
from millstream.language.types.coercion import is_unknown, widest

Bind = Callable[[exp.Query], Select]


def bind_union(query: exp.SetOperation, text: str, bind: Bind) -> Select:
    """The bound form of SELECTs that are united; they have the names of the first one's columns."""
    meeting = _meeting(query)
    nodes = list(_parts(query, meeting))
    selects = [bind(node) for node in nodes]
    for node, select in zip(nodes, selects, strict=True):
        _check(select, selects[0], node, meeting, text)
    names = [i.name for i in selects[0].items]
    types = [_type(place, selects, nodes, meeting, text) for place in range(len(names))]
    times = [_place(s) for s in selects]
    bounded = selects[0].bounded
    timed = not bounded and times[0] is not None and len(set(times)) == 1
    time = names[times[0]] if timed and times[0] is not None else None
    if time is None and not bounded and meeting is not UnionKind.ALL:
        raise Refused(
            f"{meeting.value} of streams needs their time stamps: without them nothing could ever be forgotten",
            text,
            span_of(nodes[-1]) or span_of(query),
            clause=meeting.value,
            hint="select the time-stamp column of each, all in the same place; or write UNION ALL",
        )
    parts = tuple(_cast(select, names, types, time) for select in selects)
    items = tuple(Item(n, column_of(n, t), t) for n, t in zip(names, types, strict=True))
    whole = Select(UnionSpec(parts, meeting, time), items, None, bounded, time)
    scope = Scope("the union", whole.schema, bounded, time, source=whole.source)
    ends = exp.Select(**{key: query.args.get(key) for key in ("order", "limit", "offset")})
    refuse_unbounded(ends, scope, text)
    if not bounded:
        return whole
    clauses = bounded_clauses(ends, items, text, lambda key: bind_expression(key, scope, text, "ORDER BY")[0])
    return replace(whole, **clauses)  # type: ignore[arg-type]


def _meeting(query: exp.SetOperation) -> UnionKind:
    if query.meta.get("ordered"):
        return UnionKind.ORDERED
    return UnionKind.UNIQUE if query.args.get("distinct") else UnionKind.ALL


def _parts(query: exp.Query, meeting: UnionKind) -> Iterator[exp.Query]:
    """The SELECTs of a chain of the same word; what is united in another way is a part of its own."""
    own = not query.args.get("order") and not query.args.get("limit")
    for side in (query.this, query.expression):
        same = isinstance(side, exp.SetOperation) and not isinstance(side, exp.Except | exp.Intersect)
        if same and own and _meeting(side) is meeting and not (side.args.get("order") or side.args.get("limit")):
            yield from _parts(side, meeting)
        else:
            yield side


def _check(select: Select, first: Select, node: exp.Query, meeting: UnionKind, text: str) -> None:
    if len(select.items) != len(first.items):
        raise EslSyntaxError(
            f"one SELECT has {len(first.items)} columns and another {len(select.items)}",
            text,
            span_of(node),
            clause=meeting.value,
            hint="give all of them the same columns; NULL AS x stands for one that is missing",
        )
    if select.bounded != first.bounded:
        raise Refused(
            "a stream and a table cannot be united: a table is there at once, and a stream never ends",
            text,
            span_of(node),
            clause=meeting.value,
            hint="make a stream of the table's files: CREATE STREAM t (...) SOURCE ...",
        )


def _type(place: int, selects: list[Select], nodes: list[exp.Query], meeting: UnionKind, text: str) -> SqlType:
    types = [s.items[place].type for s in selects]
    found = widest(types)
    if found is None:
        name = selects[0].items[place].name
        raise TypeMismatch(
            f"column {place + 1}, '{name}', is {' and '.join(dict.fromkeys(type_name(t) for t in types))}",
            text,
            span_of(nodes[-1]),
            clause=meeting.value,
            hint="cast one of them to the type of the other",
        )
    return types[0] if is_unknown(found) else found


def _place(select: Select) -> int | None:
    """Where the time stamp stands among the columns."""
    return next((i for i, item in enumerate(select.items) if item.name == select.time), None)


def _cast(select: Select, names: list[str], types: list[SqlType], time: str | None) -> Select:
    """The SELECT with the names and the types that all parts have."""
    wanted = [(name, type_name(type_)) for name, type_ in zip(names, types, strict=True)]
    if [(i.name, type_name(i.type)) for i in select.items] == wanted and select.time == time:
        return select
    items = []
    for item, name, type_ in zip(select.items, names, types, strict=True):
        read: Value = column_of(item.name, item.type)
        if type_name(item.type) != type_name(type_):
            read = cast_to(read, type_)
        items.append(Item(name, read, type_))
    return Select(select, tuple(items), None, select.bounded, time)
