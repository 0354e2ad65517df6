"""The worker's side of direct reading: Parquet files to packets, in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from millstream.errors import RunError
from millstream.operators.blobs import from_bytes, to_bytes
from millstream.operators.grouped import TIME
from millstream.operators.lazy_rows import LazyRows
from millstream.spark.arrival_order import FILE_FIELD, Run, in_run, plain_path
from millstream.spark.collector import settle
from millstream.spark.direct_steps import Step, early
from millstream.spark.ingress import CHUNK_ROWS, Inlet, chunks, sealed
from millstream.spark.packets import PACKET_FIELDS, PACKET_SCHEMA, Progress
from millstream.spark.time_limits import Judged, judged

PATH = "path"
ORIGIN = "__origin"
WRITTEN = "written"
"""The milliseconds at which a file was written."""

WRITTEN_SQL = f"unix_millis(modificationTime) AS {WRITTEN}"

TABLE = "__table"
"""Before the number of a table: the column in which its rows come along with each file."""

WORTH_IT = 100_000
"""So many tuples are worth a round of all steps; to put more of them together would cost a copy."""

ROWS = "rows"
FILES = "files"
COUNTED_SCHEMA = f"{PACKET_SCHEMA}, {ROWS} BIGINT, {FILES} BIGINT"
_COUNTED_FIELDS = PACKET_FIELDS.append(pa.field(ROWS, pa.int64())).append(pa.field(FILES, pa.int64()))

Arrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Reading:
    """The columns that are read, the time stamp among them, the steps that follow, and the tables for these."""

    schema: pa.Schema
    time: str
    steps: tuple[Step, ...]
    tables: tuple[pa.Schema, ...] = ()


def direct_ingress(inlet: Inlet, reading: Reading) -> Arrow:
    """A function for mapInArrow from the names of files to packets; the first one of each file counts its rows."""
    steps = early(reading.steps, reading.tables)
    ordered = inlet.order is not None

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            files = batch.num_rows
            tables = [_table(batch, number, schema) for number, schema in enumerate(reading.tables)]
            passed = _Passed()
            for run, chunk in _pieces(batch, reading.schema, ordered):
                seen = judged(inlet.limits, chunk[reading.time].cast(pa.int64()))
                rows = LazyRows.of(chunk if seen.good is None else chunk.filter(seen.good))
                for step in steps:
                    rows = step(rows, tables)
                passed.add(rows.table(), chunk.num_rows, seen, run)
                if passed.rows >= CHUNK_ROWS:
                    yield passed.packets(inlet, files)
                    passed, files = _Passed(), 0
            if passed.read or files:  # files may be empty
                yield passed.packets(inlet, files)
        settle()

    return run


def _pieces(batch: pa.RecordBatch, schema: pa.Schema, ordered: bool) -> Iterator[tuple[Run | None, pa.Table]]:
    """What the files of a batch hold; `ordered`, file by file, with what says where each piece comes."""
    paths = batch.column(PATH).to_pylist()
    if not ordered:
        yield from ((None, chunk) for chunk in chunks((b for path in paths for b in read(path, schema)), WORTH_IT))
        return
    written = batch.column(WRITTEN).to_pylist()
    for time, name, path in sorted(zip(written, map(plain_path, paths), paths, strict=True)):
        for number, chunk in enumerate(chunks(read(path, schema), WORTH_IT)):
            yield Run(time, name, 0, 0, number, 0), chunk


class _Passed:
    """The tuples that have passed all steps, and what was read for them."""

    def __init__(self) -> None:
        self.rows = self.read = self.rejected = 0
        self._tables: list[pa.Table] = []
        self._newest: int | None = None
        self._runs: list[Run] = []

    def add(self, rows: pa.Table, read: int, seen: Judged, run: Run | None) -> None:
        """Tuples that passed, how many were read, what their time stamps are like, and where they come."""
        if run is not None:
            rows = in_run(rows, len(self._runs))
            self._runs.append(run._replace(size=rows.num_rows))
        self._tables.append(rows)
        self.rows += rows.num_rows
        self.read += read
        self.rejected += seen.rejected
        self._newest = max((t for t in (self._newest, seen.newest) if t is not None), default=None)

    def packets(self, inlet: Inlet, files: int) -> pa.RecordBatch:
        """All of them as packets; the first one counts what was read."""
        if not self._tables:
            return _counted(sealed(inlet, None, Progress(feed=inlet.feed)), 0, files)
        rows = pa.concat_tables(self._tables)
        ends, runs = (self._newest, pc.min(rows[TIME]).as_py()), tuple(self._runs)
        progress = Progress(*ends, feed=inlet.feed, rejected=self.rejected, runs=runs)
        return _counted(sealed(inlet, rows, progress), self.read, files)


def pack(schema: pa.Schema) -> Arrow:
    """A function for mapInArrow from the rows of a table to one that holds them all."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(list(batches), schema)
        yield pa.RecordBatch.from_pydict({TABLE: pa.array([to_bytes(rows)], pa.binary())})

    return run


def rows_of(schema: pa.Schema) -> Arrow:
    """A function for mapInArrow from the names of files to their rows, each with its file."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, written in zip(*(batch.column(name).to_pylist() for name in (PATH, WRITTEN)), strict=True):
                origin = pa.scalar(Path(plain_path(path)).as_uri())
                file = pa.scalar({"time": written, "path": path, "block": 0}, FILE_FIELD.type)
                for rows in read(path, schema):
                    of_file = rows.append_column(ORIGIN, pa.repeat(origin, rows.num_rows))
                    yield of_file.append_column(FILE_FIELD, pa.repeat(file, rows.num_rows))
        settle()

    return run


def read(path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The columns of a file, in the types that the stream declares; those that it does not have are NULL."""
    place = path.removeprefix("file:")
    file = pq.ParquetFile(place, coerce_int96_timestamp_unit="us")
    known = {field.name.lower(): field for field in file.schema_arrow}
    found = {field.name: known[field.name.lower()] for field in schema if field.name.lower() in known}
    for name, field in found.items():
        if not _fits(field.type, schema.field(name).type):
            raise RunError(f"{place}: column {name} is {field.type}, and the stream declares {schema.field(name).type}")
    names = [field.name for field in found.values()]
    for batch in file.iter_batches(CHUNK_ROWS, columns=names, use_threads=False):
        yield pa.RecordBatch.from_arrays(
            [
                _typed(batch.column(found[field.name].name), field, place)
                if field.name in found
                else pa.nulls(batch.num_rows, field.type)
                for field in schema
            ],
            schema=schema,
        )


def _typed(column: pa.Array, field: pa.Field, place: str) -> pa.Array:
    if pt.is_timestamp(column.type) and column.type.unit == "ns":
        column = pc.floor_temporal(column, unit="microsecond").cast(pa.timestamp("us", column.type.tz), safe=False)
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as problem:
        raise RunError(f"{place}: column {field.name} is not always {field.type}: {problem}") from None


def _fits(from_: pa.DataType, to: pa.DataType) -> bool:
    """Whether values of a type that stands in a file are of the declared type: as Spark has it."""
    if pt.is_dictionary(from_):
        return _fits(from_.value_type, to)
    if pt.is_null(from_):
        return True
    if pt.is_integer(from_):
        return _holds(from_, to)
    if pt.is_floating(from_):
        return bool(pt.is_floating(to) and from_.bit_width <= to.bit_width)
    if pt.is_timestamp(from_):
        return bool(pt.is_timestamp(to))
    if pt.is_decimal(from_) and pt.is_decimal(to):
        whole = from_.precision - from_.scale
        return bool(from_.scale <= to.scale and whole <= to.precision - to.scale)
    if pt.is_string(to):
        texts = (pt.is_string, pt.is_large_string, pt.is_string_view, pt.is_binary, pt.is_large_binary)
        return any(test(from_) for test in texts)
    return bool(from_ == to)


def _holds(from_: pa.DataType, to: pa.DataType) -> bool:
    """The same for whole numbers; Parquet has none of less than 32 bits, so small types are seen by the values."""
    if pt.is_integer(to):
        bits = from_.bit_width + (1 if pt.is_unsigned_integer(from_) else 0)
        return bool(bits <= max(to.bit_width, 32))
    return bool(pt.is_float64(to) and from_.bit_width <= 32)


def _table(batch: pa.RecordBatch, number: int, schema: pa.Schema) -> pa.Table:
    packed = batch.column(f"{TABLE}{number}")[0].as_py()  # all files have the same
    return schema.empty_table() if packed is None else from_bytes(packed).combine_chunks()


def _counted(packets: pa.RecordBatch, rows: int, files: int) -> pa.RecordBatch:
    rest = [0] * (packets.num_rows - 1)
    counts = [pa.array([rows, *rest], pa.int64()), pa.array([files, *rest], pa.int64())]
    return pa.RecordBatch.from_arrays([*packets.columns, *counts], schema=_COUNTED_FIELDS)
