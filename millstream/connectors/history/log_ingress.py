"""A log that a stage reads by itself: ranges of positions to tuples and promises, and no row passes through Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.files.arrow_ingress import WORTH_IT, Found, Reading
from millstream.connectors.history.log_source import START, STOP
from millstream.history.log import REASON, read
from millstream.progress.promise_mark import MARK, promise_of
from millstream.spark.stage.arrival_order import Run
from millstream.spark.stage.ingress import chunks


@dataclass(frozen=True, kw_only=True)
class LogReading(Reading):
    """What is read of a log in a folder; rows that are stamped before `since` are passed over."""

    folder: Path
    since: int | None = None

    def opener(self) -> _Ranges:
        """What opens the ranges of a task."""
        return _Ranges(self)


class _Ranges:
    """Opens ranges of positions, and counts the rows there that were rejected."""

    def __init__(self, reading: LogReading) -> None:
        self._reading = reading
        self.bad = 0

    def pieces(self, batch: pa.RecordBatch, ordered: bool) -> Iterator[Found]:
        """The tuples of the ranges, which are in the order of arrival by their positions."""
        names = [*self._reading.schema.names, REASON, MARK]
        for start, stop in zip(*(batch.column(name).to_pylist() for name in (START, STOP)), strict=True):
            rows = read(self._reading.folder, start, stop, names)
            for number, chunk in enumerate(chunks(rows, WORTH_IT)):
                run = Run(0, "", start, 0, number, 0) if ordered else None
                yield self._sort_chunk(chunk, run)

    def _sort_chunk(self, chunk: pa.Table, run: Run | None) -> Found:
        promises: tuple[int, ...] = ()
        read, wrong = chunk.num_rows, chunk.num_rows - chunk[REASON].null_count
        if wrong:
            self.bad += wrong
            read -= wrong  # they are counted with what is bad
            chunk = chunk.filter(pc.is_null(chunk[REASON]))
        if chunk[MARK].null_count < chunk.num_rows:
            said = chunk[MARK].drop_null().to_pylist()
            promises = tuple(map(promise_of, said))
            read -= len(said)
            chunk = chunk.filter(pc.is_null(chunk[MARK]))
        chunk = chunk.drop_columns([REASON, MARK])
        if self._reading.since is not None:
            late_enough = pc.greater_equal(chunk[self._reading.time].cast(pa.int64()), self._reading.since)
            chunk = chunk.filter(late_enough)
        return Found(run, chunk, read, promises)
