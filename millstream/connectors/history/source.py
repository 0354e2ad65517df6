"""The arrivals of a kept stream, read from its log."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.catalog.definitions import HistoryTable, Stream
from millstream.connectors.arrivals import Arrivals, ddl, time_of, tuples
from millstream.connectors.history import log_source
from millstream.connectors.history.log_source import FORMAT, START, STOP
from millstream.history.index import Index
from millstream.history.log import HIDDEN, ORIGIN, REASON, read
from millstream.history.moments import Bound, begin_at, end_at
from millstream.progress.promise_mark import MARK
from millstream.spark.host import Host
from millstream.spark.metrics import READ
from millstream.spark.stage.garbage_collector import freeze_imported_modules

Arrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def stream(host: Host, stream: Stream) -> Arrivals:
    """The rows that are in the log and those that land in it, from where the query begins."""
    start = start_of(host, stream)
    arrivals = _arrivals(log_reader(host, stream).load(), host, stream)
    if start.time is None or stream.time is None:
        return arrivals
    # What speaks of progress passes, and so does what was rejected: it has no time stamp that could be relied on.
    told = F.col(MARK).isNotNull() | F.col(REASON).isNotNull()
    return replace(arrivals, frame=arrivals.frame.filter(told | (time_of(stream) >= start.time)))


def table(host: Host, table: HistoryTable) -> DataFrame:
    """The rows that are in the log between two moments, as it is now."""
    stream, index = table.stream, Index(host.history_of(table.stream.name))
    now = time.time_ns() // 1000
    start = begin_at(index, stream.name, table.spec.since, now)
    stop = end_at(index, table.spec.until, now)
    log_source.register(host.spark)
    reader = host.spark.read.format(FORMAT).options(path=str(index.folder), start=start.position, stop=stop.position)
    once_more = uuid.uuid4().int % (1 << 31)  # Spark wants different names for what it counts of each reading
    frame = tuples(_arrivals(reader.load(), host, stream), stream, marked=False, again=1 + once_more)
    if start.time is not None:
        frame = frame.filter(time_of(stream) >= start.time)
    return frame if stop.time is None else frame.filter(time_of(stream) < stop.time)


def start_of(host: Host, stream: Stream) -> Bound:
    """Where the query that is lowered begins in the log of a stream: what has no place of its own reads all of it."""
    return host.starts.get(stream.name.lower()) or Bound(Index(host.history_of(stream.name)).extent.begin)


def log_reader(host: Host, stream: Stream) -> DataStreamReader:
    """Spark's reader of the ranges of positions of a kept stream."""
    log_source.register(host.spark)
    reader = host.spark.readStream.format(FORMAT)
    where = {"path": str(host.history_of(stream.name)), "stream": stream.name.lower()}
    if (stop := host.stops.get(stream.name.lower())) is not None:
        where["stop"] = str(stop)
    if host.hold is not None:
        where["hold"] = str(host.hold)
    return reader.options(**where, start=start_of(host, stream).position, maxRows=log_source.MOST_ROWS)


def _arrivals(ranges: DataFrame, host: Host, stream: Stream) -> Arrivals:
    counted = _count_ranges(ranges, "sum(0)", "count(1)")
    names = [column.name for column in stream.landed_schema]
    columns = ", ".join([ddl(stream.landed_schema), *(f"{name} STRING" for name in HIDDEN)])
    frame = counted.mapInArrow(_rows_of(host.history_of(stream.name), [*names, *HIDDEN]), columns)
    frame = _count_ranges(frame, f"count_if({MARK} IS NULL)", "sum(0)")
    return Arrivals(frame, None, F.col(ORIGIN), stream.landed_schema, landed=True)


def _rows_of(folder: Path, names: list[str]) -> Arrow:
    """A function for mapInArrow from ranges to the rows there."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start, stop in zip(*(batch.column(name).to_pylist() for name in (START, STOP)), strict=True):
                yield from read(folder, start, stop, names)
        freeze_imported_modules()

    return run


def _count_ranges(frame: DataFrame, rows: str, ranges: str) -> DataFrame:
    """Spark counts the ranges, and is told the rows."""
    counts = F.expr(f"{rows} AS rows"), F.expr(f"{ranges} AS files")
    return frame.observe(f"{READ}{uuid.uuid4().hex[:8]}", *counts)
