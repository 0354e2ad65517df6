"""SHOW and DESCRIBE: what the catalog holds, as small tables."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from millstream.catalog.ahead import Ahead
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import (
    Definition,
    DerivedStream,
    OnBadFile,
    PythonAggregate,
    Query,
    Sink,
    Stream,
    Table,
    UserAggregate,
)
from millstream.catalog.far_times import moment_text
from millstream.catalog.schema import Schema, type_name
from millstream.catalog.settings import Settings
from millstream.intervals import spoken
from millstream.language.types import functions
from millstream.mill.answers import table_of
from millstream.mill.running import RunningQuery


def kind_of(definition: Definition) -> str:
    """The word for a definition's kind."""
    names = {Stream: "stream", DerivedStream: "stream", Table: "table", Sink: "sink", Query: "query"}
    if isinstance(definition, UserAggregate | PythonAggregate):
        return "window aggregate" if definition.window else "aggregate"
    return names[type(definition)]


def headline(title: str, definition: Definition) -> str:
    """One line on what a name means."""
    match definition:
        case Stream():
            details = [f"from {definition.source}" if definition.source else "without a source"]
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
            return f"stream {title}, {', '.join(details)}"
        case DerivedStream():
            return f"stream {title}, derived from {', '.join(definition.select.reads)}" + (
                f", time stamp {definition.time}" if definition.time else ""
            )
        case Table():
            return f"table {title}, from {definition.source}"
        case Sink():
            return f"sink {title}, to {definition.address}"
        case Query():
            into = " and ".join(definition.sinks) or "its own results"
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
        ["column", "type", "null"],
        [(c.name, type_name(c.type), "yes" if c.nullable else "no") for c in schema],
    )


def listing(what: str, catalog: Catalog, settings: Settings, running: Mapping[str, RunningQuery]) -> pa.Table:
    """The table that SHOW gives."""
    match what:
        case "STREAMS":
            streams: tuple[Stream | DerivedStream, ...] = (*catalog.all(Stream), *catalog.all(DerivedStream))
            rows = [(d.name, str(d.schema), _time(d) if isinstance(d, Stream) else d.time, _origin(d)) for d in streams]
            return table_of(["stream", "columns", "time stamp", "from"], rows)
        case "TABLES":
            return table_of(
                ["table", "columns", "from"],
                [(t.name, str(t.schema), str(t.source)) for t in catalog.all(Table)],
            )
        case "SINKS":
            return table_of(["sink", "to"], [(s.name, str(s.address)) for s in catalog.all(Sink)])
        case "QUERIES":
            return table_of(
                ["query", "state", "batches", "rows in", "rows out", "rejected", "late", "moved most by", "text"],
                _queries(running),
            )
        case "BUCKETS":
            return table_of(["query", "stage", "bucket", "rows", "seconds", "share"], _buckets(running))
        case "AGGREGATES":
            known: tuple[UserAggregate | PythonAggregate, ...]
            known = (*catalog.all(UserAggregate), *catalog.all(PythonAggregate))
            return table_of(
                ["aggregate", "kind", "parameters", "result", "answers"],
                [(a.name, kind_of(a), str(a.parameters), str(a.result), _aggregate(a)) for a in known],
            )
        case "SETTINGS":
            return table_of(["setting", "value", "what it does"], list(settings.items()))
        case "FUNCTIONS":
            kinds = [(n, k.value) for n in functions.names() if (k := functions.kind(n)) is not None]
            return table_of(["function", "kind"], kinds)
    raise ValueError(what)


def _queries(running: Mapping[str, RunningQuery]) -> list[tuple[object, ...]]:
    return [
        (
            q.name,
            q.state if not q.failure else f"failed: {q.failure}",
            q.counts.batches,
            q.counts.rows_in,
            q.counts.rows_out,
            sum(q.counts.rejected.values()),
            sum(q.counts.late.values()),
            ", ".join(f"{stream} {moment_text(leap.to)}" for stream, leap in q.counts.leaps.items()) or None,
            " ".join(q.definition.text.split()),
        )
        for q in running.values()
    ]


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
    return str(relation.source) if relation.source else "no source"
