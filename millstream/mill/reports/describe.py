"""SHOW and DESCRIBE: what the catalog holds, as small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from millstream.catalog.ahead import Ahead
from millstream.catalog.catalog import Broken, Catalog
from millstream.catalog.definitions import (
    Definition,
    DerivedStream,
    OnBadFile,
    PythonAggregate,
    Query,
    Sink,
    StoredTable,
    Stream,
    Table,
    UserAggregate,
    View,
)
from millstream.catalog.schema import Schema, type_name
from millstream.catalog.settings import Settings
from millstream.intervals import spoken
from millstream.language.names import kind_of
from millstream.language.types import functions
from millstream.mill.answers import table_of
from millstream.mill.engine.running import RunningQuery
from millstream.mill.reports.list_queries import COLUMNS, DONE

DescribeHistory = Callable[[Stream], str]
"""Tells what is kept of a stream."""


def headline(title: str, definition: Definition, kept: DescribeHistory = lambda stream: "") -> str:
    """One line on what a name means."""
    match definition:
        case Stream():
            details = [f"from {definition.source}" if definition.source else "fed by INSERT INTO"]
            details.append(_time(definition))
            for word, value in (
                ("slack", definition.slack),
                ("ahead", definition.ahead),
                ("idle after", definition.idle_after),
            ):
                if value:
                    details.append(f"{word} {value if isinstance(value, Ahead) else spoken(value)}")
            if definition.on_bad_file is OnBadFile.REJECT:
                details.append("bad files rejected")
            if definition.keep is not None:
                details.append(f"keeps {kept(definition)}")
            return f"stream {title}, {', '.join(details)}"
        case DerivedStream():
            return f"stream {title}, derived from {', '.join(definition.select.reads)}" + (
                f", time stamp {definition.time}" if definition.time else ""
            )
        case View():
            keys = ", ".join(definition.query.keys)
            return f"view {title}, the newest row for each {keys}: {' '.join(definition.query.text.split())}"
        case StoredTable():
            return f"table {title}, stored"
        case Table():
            return f"table {title}, from {definition.source}"
        case Sink():
            return f"sink {title}, to {definition.address}"
        case Query():
            into = " and ".join(definition.sinks) or definition.into or "its own results"
            return f"query {title}, into {into}: {' '.join(definition.text.split())}"
        case UserAggregate() | PythonAggregate():
            return f"{kind_of(definition)} {title} : {definition.result}, {_aggregate(definition)}"


def _aggregate(definition: UserAggregate | PythonAggregate) -> str:
    words = ["algebraic"] if definition.algebraic else []
    if isinstance(definition, PythonAggregate):
        words.append(f"in Python: {definition.place}")
    elif definition.blocking:
        words.append("blocking: it answers when its input or its window ends")
    else:
        words.append("non-blocking: it answers while its input comes")
    return ", ".join(words)


def columns(schema: Schema) -> pa.Table:
    """The columns of a relation."""
    return table_of(
        ["column", "type", "null"], [(c.name, type_name(c.type), "yes" if c.nullable else "no") for c in schema]
    )


def listing(
    what: str,
    catalog: Catalog,
    settings: Settings,
    running: Mapping[str, RunningQuery],
    kept: DescribeHistory,
    queries: Iterable[tuple[object, ...]] = (),
) -> pa.Table:
    """The table that SHOW gives; `queries` are the rows of SHOW QUERIES. What is broken is told with its reason."""
    match what:
        case "STREAMS":
            streams: tuple[Stream | DerivedStream, ...] = (*catalog.all(Stream), *catalog.all(DerivedStream))
            rows = [
                (d.name, str(d.schema), _time(d), _origin(d), kept(d))
                if isinstance(d, Stream)
                else (d.name, str(d.schema), d.time, _origin(d), "")
                for d in streams
            ]
            broken = [(b.name, None, None, f"broken: {b.reason}", "") for b in _find_broken("stream", catalog)]
            return table_of(["stream", "columns", "time stamp", "from", "keeps"], [*rows, *broken])
        case "TABLES":
            tables = [(t.name, str(t.schema), _place(t)) for t in catalog.all(Table) if not isinstance(t, View)]
            lost = [(b.name, None, f"broken: {b.reason}") for b in _find_broken("table", catalog)]
            return table_of(["table", "columns", "from"], [*tables, *lost])
        case "VIEWS":
            views = [
                (v.name, str(v.schema), ", ".join(v.query.keys), " ".join(v.query.text.split()))
                for v in catalog.all(View)
            ]
            fallen = [(b.name, None, None, f"broken: {b.reason}") for b in _find_broken("view", catalog)]
            return table_of(["view", "columns", "key", "text"], [*views, *fallen])
        case "SINKS":
            sinks = [(s.name, str(s.address)) for s in catalog.all(Sink)]
            return table_of(
                ["sink", "to"], [*sinks, *((b.name, f"broken: {b.reason}") for b in _find_broken("sink", catalog))]
            )
        case "QUERIES":
            return table_of([*COLUMNS, *DONE], list(queries))
        case "BUCKETS":
            return table_of(["query", "stage", "bucket", "rows", "seconds", "share"], _buckets(running))
        case "AGGREGATES":
            known: tuple[UserAggregate | PythonAggregate, ...]
            known = (*catalog.all(UserAggregate), *catalog.all(PythonAggregate))
            return table_of(
                ["aggregate", "kind", "parameters", "result", "answers"],
                [
                    *((a.name, kind_of(a), str(a.parameters), str(a.result), _aggregate(a)) for a in known),
                    *((b.name, b.kind, None, None, f"broken: {b.reason}") for b in _find_broken("aggregate", catalog)),
                ],
            )
        case "SETTINGS":
            return table_of(["setting", "value", "what it does"], list(settings.items()))
        case "FUNCTIONS":
            kinds = [(n, k.value) for n in functions.names() if (k := functions.kind(n)) is not None]
            return table_of(["function", "kind"], kinds)
    raise ValueError(what)


def _find_broken(kind: str, catalog: Catalog) -> list[Broken]:
    """The broken definitions of a kind, window aggregates among the aggregates."""
    return [broken for broken in catalog.broken.values() if broken.kind.split()[-1] == kind]


def _place(table: Table) -> str:
    return "stored" if isinstance(table, StoredTable) else str(table.source)


def _buckets(running: Mapping[str, RunningQuery]) -> list[tuple[object, ...]]:
    """What each bucket has done, and its share of the seconds of its stage in percent: even shares are good ones."""
    rows: list[tuple[object, ...]] = []
    for query in running.values():
        for stage, buckets in sorted(query.counts.work.items(), key=lambda item: int(item[0])):
            total = sum(work.seconds for work in buckets.values())
            for number, work in enumerate(buckets.values(), 1):
                share = round(100 * work.seconds / total, 1) if total else None
                rows.append((query.name, int(stage), number, work.rows, round(work.seconds, 3), share))
    return rows


def _time(stream: Stream) -> str:
    return f"{stream.time_stamp.value} time stamp" + (f" {stream.time}" if stream.time else "")


def _origin(relation: Stream | DerivedStream) -> str:
    if isinstance(relation, DerivedStream):
        return f"derived from {', '.join(relation.select.reads)}"
    return str(relation.source) if relation.source else "INSERT INTO"
