"""The worker's side of direct reading: Parquet files to packets, in one go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.formats.parquet_files import read, read_whole
from millstream.connectors.places.aliases import real_path
from millstream.connectors.places.bad_files import BAD, BadFile
from millstream.connectors.places.paths import place_of
from millstream.operators.blobs import from_bytes, to_bytes
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.operators.tuples.row_steps import Step
from millstream.operators.window_aggregate_job import TIME
from millstream.spark.stage.arrival_order import FILE_FIELD, Run, in_run
from millstream.spark.stage.garbage_collector import freeze_imported_modules
from millstream.spark.stage.ingress import CHUNK_ROWS, Inlet, chunks, seal_packets
from millstream.spark.stage.packets import PACKET_FIELDS, PACKET_SCHEMA, TaskProgress
from millstream.spark.stage.time_limits import TimeJudgement, judge_times

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
BAD_FILES = "bad"
_COUNTS = (ROWS, FILES, BAD_FILES)
COUNTED_SCHEMA = f"{PACKET_SCHEMA}, {', '.join(f'{name} BIGINT' for name in _COUNTS)}"
_COUNTED_FIELDS = pa.schema([*PACKET_FIELDS, *(pa.field(name, pa.int64()) for name in _COUNTS)])

Arrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Reading:
    """The columns that are read, the time stamp among them, the steps that follow, and the tables for these.

    Files in which what is `declared` cannot be read are passed over, and counted; if nothing is, they stop the query.
    """

    schema: pa.Schema
    time: str
    steps: tuple[Step, ...]
    tables: tuple[pa.Schema, ...] = ()
    declared: pa.Schema | None = None

    @property
    def columns(self) -> pa.Schema:
        """The columns that are taken from files."""
        return self.schema

    def opener(self) -> Opener:
        """What opens the files of a task."""
        return FileReader(self)


class Found(NamedTuple):
    """A piece of what is read: its place in the order of arrival, its rows, how many were read, and promises."""

    run: Run | None
    rows: pa.Table
    read: int
    promises: tuple[int, ...] = ()


class Opener(Protocol):
    """Opens what the rows of Spark name, and counts what is `bad`."""

    bad: int

    def pieces(self, batch: pa.RecordBatch, ordered: bool) -> Iterator[Found]:
        """What is there; `ordered`, with what says where each piece comes."""
        ...


def direct_ingress(inlet: Inlet, reading: Reading) -> Arrow:
    """A function for mapInArrow from the names of files to packets; the first one of each file counts its rows."""
    ordered = inlet.order is not None

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            files = batch.num_rows
            tables = [_table(batch, number, schema) for number, schema in enumerate(reading.tables)]
            begun, passed = time.perf_counter(), _Passed()
            reader = reading.opener()
            for found in reader.pieces(batch, ordered):
                seen = judge_times(inlet.limits, found.rows[reading.time].cast(pa.int64()))
                rows = LazyRows.of(found.rows if seen.good is None else found.rows.filter(seen.good))
                for step in reading.steps:
                    rows = step(rows, tables)
                passed.add(rows.table(), found, seen)
                if passed.rows >= CHUNK_ROWS:
                    yield passed.packets(inlet, begun, files)
                    begun, passed, files = time.perf_counter(), _Passed(), 0
            if passed.read or files or reader.bad:  # files may be empty
                yield passed.packets(inlet, begun, files, reader.bad)
        freeze_imported_modules()

    return run


class FileReader:
    """Opens files, and counts those that are bad."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.bad = 0

    def pieces(self, batch: pa.RecordBatch, ordered: bool) -> Iterator[Found]:
        """What the files of a batch hold; `ordered`, file by file."""
        paths = batch.column(PATH).to_pylist()
        if not ordered:
            for chunk in chunks((b for path in paths for b in self._rows(path)), WORTH_IT):
                yield Found(None, chunk, chunk.num_rows)
            return
        written = batch.column(WRITTEN).to_pylist()
        for moment, name, path in sorted(zip(written, map(place_of, paths), paths, strict=True)):
            for number, chunk in enumerate(chunks(self._rows(path), WORTH_IT)):
                yield Found(Run(moment, name, 0, 0, number, 0), chunk, chunk.num_rows)

    def _rows(self, path: str) -> Iterator[pa.RecordBatch]:
        """The columns of a file."""
        if self._reading.declared is None:
            return read(path, self._reading.columns)
        try:
            return read_whole(path, self._reading.declared, self._reading.columns)
        except BadFile:
            self.bad += 1
            return iter(())


class _Passed:
    """The tuples that have passed all steps, and what was read for them."""

    def __init__(self) -> None:
        self.rows = self.read = self.rejected = 0
        self._tables: list[pa.Table] = []
        self._newest: int | None = None
        self._runs: list[Run] = []
        self._promises: list[int] = []

    def add(self, rows: pa.Table, found: Found, seen: TimeJudgement) -> None:
        """Tuples that passed, what they are of, and what the time stamps there are like."""
        if found.run is not None:
            rows = in_run(rows, len(self._runs))
            self._runs.append(found.run._replace(size=rows.num_rows))
        self._tables.append(rows)
        self.rows += rows.num_rows
        self.read += found.read
        self._promises += found.promises
        self.rejected += seen.rejected
        self._newest = max((t for t in (self._newest, seen.newest) if t is not None), default=None)

    def packets(self, inlet: Inlet, begun: float, files: int, bad: int = 0) -> pa.RecordBatch:
        """All of them as packets; the first one counts what was read. A bad file is one row, and that is rejected."""
        if not self._tables:
            return _add_counts(seal_packets(inlet, None, TaskProgress(feed=inlet.feed), begun), bad, files, bad)
        rows = pa.concat_tables(self._tables)
        ends, runs = (self._newest, pc.min(rows[TIME]).as_py()), tuple(self._runs)
        promises = tuple((None, time) for time in self._promises)
        progress = TaskProgress(*ends, promises=promises, feed=inlet.feed, rejected=self.rejected, runs=runs)
        return _add_counts(seal_packets(inlet, rows, progress, begun), self.read + bad, files, bad)


def pack(schema: pa.Schema) -> Arrow:
    """A function for mapInArrow from the rows of a table to one that holds them all."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(list(batches), schema)
        yield pa.RecordBatch.from_pydict({TABLE: pa.array([to_bytes(rows)], pa.binary())})

    return run


def rows_of(schema: pa.Schema, judged: bool = False) -> Arrow:
    """A function for mapInArrow from the names of files to their rows, each with its file.

    `judged`, a bad file is a row that says nothing but what is wrong, in BAD, which is NULL for others.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, written in zip(*(batch.column(name).to_pylist() for name in (PATH, WRITTEN)), strict=True):
                uri = Path(real_path(place_of(path))).as_uri()
                origin, file = pa.scalar(uri), pa.scalar({"time": written, "path": uri, "block": 0}, FILE_FIELD.type)
                for rows in _judge_file(path, schema) if judged else read(path, schema):
                    of_file = rows.append_column(ORIGIN, pa.repeat(origin, rows.num_rows))
                    yield of_file.append_column(FILE_FIELD, pa.repeat(file, rows.num_rows))
        freeze_imported_modules()

    return run


def _table(batch: pa.RecordBatch, number: int, schema: pa.Schema) -> pa.Table:
    packed = batch.column(f"{TABLE}{number}")[0].as_py()  # all files have the same
    return schema.empty_table() if packed is None else from_bytes(packed).combine_chunks()


def _judge_file(path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        found = read_whole(path, schema, schema)
    except BadFile as problem:
        nothing = pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema)
        yield nothing.append_column(BAD, pa.array([str(problem)]))
        return
    for rows in found:
        yield rows.append_column(BAD, pa.nulls(rows.num_rows, pa.string()))


def _add_counts(packets: pa.RecordBatch, rows: int, files: int, bad: int) -> pa.RecordBatch:
    rest = [0] * (packets.num_rows - 1)
    counts = [pa.array([count, *rest], pa.int64()) for count in (rows, files, bad)]
    return pa.RecordBatch.from_arrays([*packets.columns, *counts], schema=_COUNTED_FIELDS)
