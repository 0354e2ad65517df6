"""One reading for several sinks: what each of them gets of the rows that FROM gives."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.catalog.definitions import Output, Sink
from millstream.catalog.select import Select, TableJoinSpec, WindowJoinSpec
from millstream.connectors.registry import connector
from millstream.errors import Refused
from millstream.language.parse.statements import Name

CLAUSE = "INSERT INTO"


def bind_split(outputs: Sequence[tuple[Name, Sink, Select]], text: str) -> tuple[Output, ...]:
    """The columns and the condition of each output, all over the same FROM."""
    seen: dict[str, Name] = {}
    for name, sink, select in outputs:
        if sink.name.lower() in seen:
            hint = "write one SELECT with both conditions, or a UNION ALL in FROM"
            raise Refused(f"{sink.name} is fed twice in one statement", text, name.span, clause=CLAUSE, hint=hint)
        seen[sink.name.lower()] = name
        if connector(sink.address).kept:
            hint = "use a file, stdout, or CREATE QUERY name AS SELECT ... for rows to be read from the program"
            message = f"{sink.name} keeps its rows in memory, where only a query of its own can keep them"
            raise Refused(message, text, name.span, clause=CLAUSE, hint=hint)
        if _has_state(select):
            hint = "put the windows into FROM: FROM (SELECT ... GROUP BY ...) INSERT INTO a SELECT ... WHERE ..."
            message = f"what {sink.name} gets would need a window of its own; a split only chooses rows and columns"
            raise Refused(message, text, name.span, clause=CLAUSE, hint=hint)
        if _meetings(select) != _meetings(outputs[0][2]):
            hint = "write what joins the inputs into FROM: FROM a JOIN b ON ..., or FROM (SELECT ... WHERE x IN (...))"
            message = f"the condition for {sink.name} says how inputs are joined, and all sinks share one FROM"
            raise Refused(message, text, name.span, clause=CLAUSE, hint=hint)
    return tuple(Output(sink.name, select.items, select.where) for _, sink, select in outputs)


def _meetings(select: Select) -> list[tuple[object, ...]]:
    """How the inputs of a FROM are joined: conditions of WHERE may have gone into that, and into what is joined."""
    match select.source:
        case Select() as below:
            return _meetings(below)
        case WindowJoinSpec(left=left, right=right) as joined:
            how: tuple[object, ...] = (joined.kind, joined.reach, joined.equalities, joined.residual)
        case TableJoinSpec(left=left, right=right) as joined:
            how = (joined.kind, joined.condition)
        case _:
            return []
    return [how, (left.where, right.where), *_meetings(left), *_meetings(right)]


def _has_state(select: Select) -> bool:
    """Whether more is asked for than columns and a condition."""
    plain = select.window_aggregate is None and select.window_assignment is None and not select.over_aggregates
    return not plain or select.distinct or bool(select.order) or select.limit is not None or select.offset is not None
