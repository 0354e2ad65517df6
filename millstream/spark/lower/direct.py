"""Direct reading: Parquet files that the ingress of a stage reads by itself, so that no tuple becomes a row of Spark.

Spark tells which files a batch has; the rest happens in Arrow. That costs a fraction of the way through the JVM, and is
chosen where each step between the files and the stage can be done there with the same results. Rows of tables that are
joined on the way come along with the names of the files: Spark reads them, as they are when a batch begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from sqlglot import exp

from millstream.catalog.arrow import arrow_schema, to_arrow, to_sql
from millstream.catalog.definitions import OnBadFile, Stream, TimeStamp
from millstream.catalog.schema import SqlType
from millstream.connectors.files.direct_read import (
    BAD_FILES,
    COUNTED_SCHEMA,
    FILES,
    PATH,
    ROWS,
    TABLE,
    WRITTEN_SQL,
    Reading,
    direct_ingress,
    pack,
)
from millstream.connectors.files.listed import FILES_SCHEMA, following, source_path
from millstream.connectors.paths import is_local, is_parted, local_files
from millstream.connectors.registry import options_of
from millstream.expressions.arrow.steps import Predicate
from millstream.expressions.build.predicates import predicate, value
from millstream.expressions.build.reading import all_of, columns_of, terms_of
from millstream.language.types.functions import makes_rows
from millstream.operators.grouped import TIME
from millstream.plan.algebra import Derived, Filter, Node, Project, Scan, TableScan
from millstream.plan.several import TableJoin
from millstream.plan.trace import steps as steps_of
from millstream.plan.trace import trace
from millstream.spark.host import Host
from millstream.spark.lower.lower import lower
from millstream.spark.metrics import READ
from millstream.spark.names import quoted
from millstream.spark.stage.direct_steps import Compute, Keep, Lookup, Step, Wide
from millstream.spark.stage.ingress import Inlet
from millstream.spark.stage.map_arrow import map_in_arrow
from millstream.windows.join_kind import JoinKind

LARGEST_TABLE = 8 << 20
"""The bytes of files that a table may have: its rows come along with the name of each file."""

_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


@dataclass(frozen=True)
class Direct:
    """A stream that is read directly, and how; its bad files are counted where a query reads it first."""

    stream: Stream
    reading: Reading
    tables: tuple[DataFrame, ...]
    types: Mapping[str, pa.DataType]
    counts_bad: bool = False

    def schema(self, names: Iterable[str]) -> pa.Schema:
        """The types of columns that are read."""
        return pa.schema([pa.field(name, self.types[name]) for name in names])


class _Indirect(Exception):
    """Something on the way that only Spark can do."""


def direct(part: Node, time: str | None, columns: Mapping[str, exp.Expression], host: Host) -> Direct | None:
    """How these columns of an input, and its time stamps, are read directly; None if that cannot be."""
    source = None if time is None else trace(part, time)
    if not host.direct or source is None or not isinstance(source[0], Scan) or host.place is None:
        return None
    stream = source[0].stream
    if source[1] != stream.time or not _readable(stream, host):
        return None
    try:
        way = _Way(host)
        known = way.to(part, _read(columns.values()) | {str(time).lower()})
        stamp = exp.Anonymous(this="unix_micros", expressions=[exp.column(str(time))])
        return way.end(known, {**columns, TIME: stamp}, source[0])
    except (_Indirect, ValueError):
        return None


def packets_of(found: Direct, inlet: Inlet, number: int, host: Host) -> DataFrame:
    """The packets of a stream that is read directly into the stage of that number."""
    stream = found.stream
    assert stream.source is not None  # noqa: S101  (it has files)
    options = options_of(stream)
    path = source_path(host, stream.source, f"stream {stream.name}")
    reader = following(host.spark, path, options, stream.name).format("binaryFile").schema(FILES_SCHEMA)
    files = reader.load()
    files = files.select(PATH) if inlet.order is None else files.select(PATH, F.expr(WRITTEN_SQL))
    for place, (table, schema) in enumerate(zip(found.tables, found.reading.tables, strict=True)):
        packed = map_in_arrow(table.coalesce(1), schema.names, pack(schema), f"{TABLE} BINARY")
        # An outer join: without a row of it there would be no files.
        files = files.join(F.broadcast(packed), F.lit(True), "left_outer").withColumnRenamed(TABLE, f"{TABLE}{place}")
    packets = files.mapInArrow(direct_ingress(inlet, found.reading), COUNTED_SCHEMA)
    counts = [ROWS, FILES, *([BAD_FILES] if found.counts_bad else [])]
    name = f"{READ}{number}.{inlet.feed}.{stream.name}"
    counted = packets.observe(name, *(F.sum(count).alias(count) for count in counts))
    return counted.select("bucket", "payload")


def _readable(stream: Stream, host: Host) -> bool:
    """Whether the files are Parquet on this machine, and each row of them is a tuple with a time stamp of its own."""
    if stream.source is None or stream.source.kind != "parquet" or stream.punctuated_by is not None:
        return False
    if stream.time_stamp is not TimeStamp.EXTERNAL or not all(c.nullable for c in stream.arriving):
        return False
    path = host.path(stream.source.rest)
    return is_local(path) and not is_parted(path)


# -- the way of the tuples -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    """The columns at some point of the way: how each is spelt, by its name in small letters, and their types."""

    names: Mapping[str, str]
    types: Mapping[str, SqlType]

    @staticmethod
    def of(types: Mapping[str, SqlType]) -> _Known:
        return _Known({name.lower(): name for name in types}, types)

    def spelt(self, expression: exp.Expression) -> exp.Expression:
        """The expression with columns as they are spelt here."""

        def spell(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and node.name.lower() in self.names:
                return exp.Column(this=exp.to_identifier(self.names[node.name.lower()], quoted=True))
            return node

        return cast("exp.Expression", expression.copy().transform(spell))

    def value(self, expression: exp.Expression) -> tuple[Predicate, pa.DataType]:
        return value(self.spelt(expression), self.types)

    def condition(self, expression: exp.Expression) -> Predicate:
        return predicate(self.spelt(expression), self.types)

    def has(self, expression: exp.Expression) -> bool:
        return _read([expression]) <= set(self.names)


@dataclass
class _Way:
    """The steps from a stream to a stage, as far as they are known."""

    host: Host
    steps: list[Step] = field(default_factory=list)
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))
    tables: list[DataFrame] = field(default_factory=list)
    table_schemas: list[pa.Schema] = field(default_factory=list)

    def to(self, node: Node, wanted: frozenset[str]) -> _Known:
        """Lay the way to a node, of which these columns are read."""
        match node:
            case Derived(below=below):
                return self.to(below, wanted)
            case Filter(below=below, predicate=condition):
                known = self.to(below, wanted | _read([condition]))
                self.steps.append(Keep((known.condition(condition),)))
                return known
            case Project(items=items) if any(makes_rows(i.expression) for i in items):
                raise _Indirect
            case Project(below=below, items=items):
                kept = [i for i in items if i.name.lower() in wanted]
                known = self.to(below, _read(i.expression for i in kept))
                self.steps.append(Compute(tuple((i.name, *_as(known, i.expression, i.type)) for i in kept)))
                return _Known.of({i.name: i.type for i in kept})
            case TableJoin():
                return self._joined(node, wanted)
            case Scan(stream=stream):
                return self._scanned(stream, wanted)
        raise _Indirect

    def end(self, known: _Known, columns: Mapping[str, exp.Expression], scan: Scan) -> Direct:
        """The whole of it, which ends with the columns that the stage wants."""
        computed = tuple((name, *known.value(e)) for name, e in columns.items())
        self.steps.append(Compute(computed))
        stream = scan.stream
        assert stream.time is not None  # noqa: S101  (there are time stamps)
        judged = stream.on_bad_file is OnBadFile.REJECT
        declared = arrow_schema(stream.arriving) if judged else None
        reading = Reading(self.schema, stream.time, tuple(self.steps), tuple(self.table_schemas), declared)
        types = {name: type_ for name, _, type_ in computed}
        return Direct(stream, reading, tuple(self.tables), types, judged and not scan.again)

    def _scanned(self, stream: Stream, wanted: frozenset[str]) -> _Known:
        computed = [i for i in stream.computed if i.name.lower() in wanted]
        if any(i.name == stream.time for i in stream.computed):
            raise _Indirect  # progress is told from what stands in the files
        read = wanted | _read(i.expression for i in computed) | {str(stream.time).lower()}
        types = {c.name: c.type for c in stream.arriving if c.name.lower() in read}
        self.schema = pa.schema([pa.field(name, _plain(type_)) for name, type_ in types.items()])
        known = _Known.of(types)
        if computed:
            made = tuple((i.name, *_as(known, i.expression, i.type)) for i in computed)
            self.steps.append(Compute(made, beside=True))
        return _Known.of({**types, **{i.name: i.type for i in computed}})

    def _joined(self, node: TableJoin, wanted: frozenset[str]) -> _Known:
        if node.condition is None or node.kind not in _KINDS or not _small(node.right, self.host):
            raise _Indirect
        terms = terms_of(node.condition)
        read = wanted | _read(terms)
        ours = self.to(node.left, read)
        frame = lower(node.right, self.host)
        frame = frame.select(*[quoted(name) for name in frame.columns if name.lower() in read])
        schema = to_arrow_schema(frame.schema, timezone="UTC")
        theirs = _Known.of({f.name: to_sql(f.type) for f in schema})
        both = _Known.of({**ours.types, **theirs.types})
        equal = {id(term): _equality(term, ours, theirs) for term in terms}
        keys = tuple(key for key in equal.values() if key is not None)
        rest = [term for term in terms if equal[id(term)] is None]
        if not keys:
            raise _Indirect
        residual = both.condition(left) if (left := all_of(rest)) is not None else None
        self.steps.append(Lookup(len(self.tables), node.kind, keys, residual))
        self.tables.append(frame)
        self.table_schemas.append(schema)
        return both if node.kind.paired else ours


def _equality(term: exp.Expr, ours: _Known, theirs: _Known) -> tuple[Predicate, Predicate] | None:
    """The sides of a term, if they are one of the tuples and one of the table and can be compared as they are."""
    if not isinstance(term, exp.EQ):
        return None
    left, right = term.this, term.expression
    if theirs.has(left) and ours.has(right):
        left, right = right, left
    if not ours.has(left) or not theirs.has(right):
        return None
    (mine, one), (other, another) = ours.value(left), theirs.value(right)
    if pt.is_integer(one) and pt.is_integer(another):
        return Wide(mine), Wide(other)
    return (mine, other) if one == another and not pt.is_floating(one) and not pt.is_decimal(one) else None


def _as(known: _Known, expression: exp.Expression, type_: SqlType) -> tuple[Predicate, pa.DataType]:
    """An expression that must have the type that the plan says, or steps above would go wrong."""
    compute, found = known.value(expression)
    if found != (to_arrow(type_) or found):
        raise _Indirect
    return compute, found


def _plain(type_: SqlType) -> pa.DataType:
    found = to_arrow(type_)
    if found is None:
        raise _Indirect
    return found


def _small(node: Node, host: Host) -> bool:
    """Whether the tables that are read are files on this machine, and few bytes."""
    paths = [host.path(step.table.source.rest) for step in steps_of(node) if isinstance(step, TableScan)]
    if not paths or not all(is_local(path) for path in paths):
        return False
    return sum(file.stat().st_size for path in paths for file in local_files(path)) <= LARGEST_TABLE


def _read(expressions: Iterable[exp.Expr]) -> frozenset[str]:
    return frozenset(name.lower() for name in columns_of(*expressions))
