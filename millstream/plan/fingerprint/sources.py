"""What the declarations of streams and tables say of their rows."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.catalog.definitions import REJECTED_SCHEMA, Stream, Table, TimeStamp
from millstream.catalog.schema import type_name
from millstream.connectors.contract import Role
from millstream.connectors.registry import connector, options_of
from millstream.expressions.words import words
from millstream.operators.tuples.late import LateTuples
from millstream.plan.fingerprint import facts
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.lineage import ColumnLineage, Lineage, take_fingerprint
from millstream.structure import Structure


def stream_lineage(declared: Stream) -> Lineage:
    """The tuples of a stream: what its declaration says of what they are.

    Slack, AHEAD, heartbeats and what becomes of bad files are not of that kind. They say how long to wait and what to
    do about trouble: they may change while a query goes on, and hold from then on.
    """
    known: dict[str, ColumnLineage] = {}
    types: dict[Structure, str] = {}
    made = {item.name.lower() for item in declared.computed}
    for column in declared.schema:
        if column.name.lower() not in made:
            leaf = ("column", declared.name.lower(), column.name.lower())
            known[column.name.lower()] = ColumnLineage(leaf, type_name(column.type))
            types[leaf] = type_name(column.type) + ("" if column.nullable else " NOT NULL")
    arriving = Lineage(known, (), (), types)
    for item in declared.computed:
        known[item.name.lower()] = ColumnLineage.of(arriving.structure(item.expression), item.type)
    lineage = Lineage(known, (), (), types)
    return lineage.with_facts(_declaration(declared, lineage))


def _declaration(declared: Stream, lineage: Lineage) -> Iterator[Fact]:
    about = ("stream", declared.name.lower())
    place: Structure = None if declared.source is None else (declared.source.kind, declared.source.rest)
    yield Fact("source", about, place, f"the source of {declared.name}", str(declared.source or ""))
    if declared.source is not None:
        known = connector(declared.source).options(Role.STREAM)
        for name, value in options_of(declared).items():
            if known[name].shapes_rows:
                yield Fact("option", (about, name), str(value), f"option {name} of {declared.name}", repr(value))
    external = declared.time_stamp is TimeStamp.EXTERNAL and declared.time is not None
    moment = lineage.column(declared.time).structure if external and declared.time else None
    said = f"{declared.time_stamp.value} {declared.time or ''}".strip()
    yield Fact("stamps", about, (declared.time_stamp.value, moment), f"the time stamp of {declared.name}", said)
    if declared.punctuated_by is not None:
        condition = lineage.structure(declared.punctuated_by)
        yield Fact(
            "punctuation", about, condition, f"the punctuation of {declared.name}", words(declared.punctuated_by)
        )


def late_lineage(declared: Stream) -> Lineage:
    """The late tuples of a stream: the state is the low-watermark, to which columns do not matter."""
    tuples = stream_lineage(declared)
    answers = {name: ColumnLineage(("late", column.structure), column.type) for name, column in tuples.columns.items()}
    time = facts.time(tuples, declared.time)
    return take_fingerprint(tuples, "late tuples", LateTuples.format, [time], answers)


def rejected_lineage(declared: Stream) -> Lineage:
    """The rows of a stream that did not parse."""
    name = declared.name.lower()
    columns = {c.name: ColumnLineage.of(("rejected", name, c.name), c.type) for c in REJECTED_SCHEMA}
    return stream_lineage(declared).with_columns(columns)


def table_lineage(declared: Table) -> Lineage:
    """A table by its name: what is in it is there when a batch begins, and is no part of any state."""
    name = declared.name.lower()
    known: dict[str, ColumnLineage] = {}
    types: dict[Structure, str] = {}
    for column in declared.schema:
        known[column.name] = ColumnLineage.of(("column", name, column.name.lower()), column.type)
        types[known[column.name].structure] = type_name(column.type)
    return Lineage(facts=(Fact("table", name, None, f"table {declared.name}"),), types=types).with_columns(known)
