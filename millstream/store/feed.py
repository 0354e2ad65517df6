"""The rows that queries and statements put into a stream: files of Parquet, one for each batch, in order.

What is known of progress comes along as marks, rows that promise what will not come any more. Each query that feeds
the stream says how far it has come, and what holds for the stream is the least of that [Li 2008, section 5.2].
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.errors import RunError
from millstream.progress.promise_mark import MARK, promise_mark
from millstream.store.on_disk import put_in_place

STATEMENT = "statement"
"""The writer of rows that are written out; each of them counts."""

FEEDERS = "feeders"
"""The folder beside the rows with a record for each query that feeds the stream."""

_NAME = re.compile(r"(\d{12})-(\w+)-(\d{12})\.parquet")
_APART = 1_000_000
"""Who reads takes the oldest files first, and tells ages apart by milliseconds."""


class Told(NamedTuple):
    """What is known of the progress of a writer after a batch: what it goes on from, and what it promises."""

    state: Any = None
    promise: int | None = None


class _Feeder(NamedTuple):
    """A query that feeds the stream, as of its last batch."""

    batch: int = -1
    told: Told = Told()


class Feed:
    """A folder of files in the order in which they were put there. A batch of a writer that comes again is known."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._records = folder.with_name(FEEDERS)
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        for left in (*folder.glob(".*.new"), *self._records.glob("*.new")):
            left.unlink()
        names = [found for path in folder.iterdir() if (found := _NAME.fullmatch(path.name))]
        self._written = {(name[2], int(name[3])) for name in names}
        self._next = max((int(name[1]) for name in names), default=-1) + 1
        self._moment = max((path.stat().st_mtime_ns for path in folder.glob("*.parquet")), default=0)
        self._feeders = {file.stem: _read(file) for file in self._records.glob("*.json")}
        self._promised: int | None = None

    @property
    def feeders(self) -> frozenset[str]:
        """The queries that feed the stream, running or not."""
        return frozenset(self._feeders)

    @property
    def promised(self) -> int | None:
        """What the queries that feed the stream promise together: what the slowest of them does."""
        promises = [feeder.told.promise for feeder in self._feeders.values()]
        known = [promise for promise in promises if promise is not None]
        return min(known) if known and len(known) == len(promises) else None

    def enlist(self, writer: str, anew: bool = False) -> Any:
        """Wait for a query from now on; returns what it told last. `anew`, its batches will be others than before."""
        with self._lock:
            if anew:
                for path in self.folder.glob(f"*-{writer}-*.parquet"):
                    path.unlink()
                self._written = {(name, number) for name, number in self._written if name != writer}
            if anew or writer not in self._feeders:
                self._note(writer, _Feeder())
            return self._feeders[writer].told.state

    def reached(self, writer: str) -> int:
        """The last batch that a query has put there, -1 if there was none."""
        feeder = self._feeders.get(writer)
        return -1 if feeder is None else feeder.batch

    def dismiss(self, writer: str) -> None:
        """Wait for a query no more: it is gone for good. What it has put there stays."""
        with self._lock:
            if self._feeders.pop(writer, None) is not None:
                (self._records / f"{writer}.json").unlink(missing_ok=True)
                self._put(None, writer, self._next, self._risen())

    def add(self, rows: pa.Table, writer: str, batch: int | None = None, told: Told | None = None) -> bool:
        """Put the rows of a batch there; False if they are there already, from before a crash.

        What a query has told with them counts together with what others have. What a statement promises counts only
        where no query feeds the stream.
        """
        told = told or Told()
        with self._lock:
            number = self._next if batch is None else batch
            before = self._feeders.get(writer)
            if before is not None and number <= before.batch:
                return False
            there = (writer, number) in self._written
            if before is not None:
                promise = max((p for p in (before.told.promise, told.promise) if p is not None), default=None)
                self._feeders[writer] = _Feeder(number, told._replace(promise=promise))
                promise = self._risen()
            else:
                promise = None if self._feeders else told.promise
            if not there:
                self._put(rows, writer, number, promise)
            elif promise is not None:  # its rows were there before a crash, and what it promised then nobody knows
                self._put(None, writer, self._next, promise)
            if before is not None:
                self._note(writer, self._feeders[writer])
            return not there

    def trim(self, names: Iterable[str]) -> None:
        """Let go of files that nobody reads any more, but for the last: its number is not given again.

        What a query might put there once more after a crash stays: it is known by its file.
        """
        with self._lock:
            for name in names:
                found = _NAME.fullmatch(name)
                if found is None or int(found[1]) >= self._next - 1:
                    continue
                feeder = self._feeders.get(found[2])
                if found[2] == STATEMENT or feeder is None or int(found[3]) <= feeder.batch:
                    (self.folder / name).unlink(missing_ok=True)

    def _risen(self) -> int | None:
        """What is promised now, if it is more than before."""
        promise = self.promised
        return promise if promise is not None and (self._promised is None or promise > self._promised) else None

    def _put(self, rows: pa.Table | None, writer: str, number: int, promise: int | None) -> None:
        """A file with rows, and a mark behind them."""
        if promise is None and (rows is None or not rows.num_rows):
            return
        table = _marked(rows, None if promise is None else promise_mark(promise))
        name = f"{self._next:012d}-{writer}-{number:012d}.parquet"
        new = self.folder / f".{name}.new"
        pq.write_table(table, new)
        self._moment = max(time.time_ns(), self._moment + _APART)
        os.utime(new, ns=(self._moment, self._moment))
        put_in_place(new, self.folder / name)
        self._next += 1
        self._written.add((writer, number))
        self._promised = promise if promise is not None else self._promised

    def _note(self, writer: str, feeder: _Feeder) -> None:
        """Write down what a query has told. It comes after the rows, so that what is promised never runs ahead."""
        self._records.mkdir(exist_ok=True)
        file = self._records / f"{writer}.json"
        new = file.with_suffix(".new")
        record = {"batch": feeder.batch, "state": feeder.told.state, "promise": feeder.told.promise}
        new.write_text(json.dumps(record))
        put_in_place(new, file)
        self._feeders[writer] = feeder


def _marked(rows: pa.Table | None, mark: str | None) -> pa.Table:
    """Rows with a mark behind them, if there is one; of a mark alone nothing else is written."""
    if rows is None:
        return pa.table({MARK: [mark]})
    if mark is None:
        return rows.append_column(MARK, pa.nulls(rows.num_rows, pa.string()))
    fields = [field.with_nullable(True) for field in rows.schema]
    parts = [pa.chunked_array([*c.chunks, pa.nulls(1, c.type)]) for c in rows.columns]
    told = pa.array([*[None] * rows.num_rows, mark], pa.string())
    return pa.table(parts, schema=pa.schema(fields)).append_column(MARK, told)


def _read(file: Path) -> _Feeder:
    try:
        record = json.loads(file.read_text())
        return _Feeder(record["batch"], Told(record["state"], record["promise"]))
    except (ValueError, KeyError):
        raise RunError(f"{file} is damaged\nhelp: bring it back, or drop the query that it is about") from None
