"""A batch of one bucket: its operator and state are found, fed, and written back."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from millstream.expressions.arrow.steps import ArrowExpression
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.progress.punctuation import Punctuation
from millstream.spark.stage.arrival_order import Runs, in_order
from millstream.spark.stage.bucket_work import BucketWork
from millstream.spark.stage.feeds import Feed, FeedProgress
from millstream.spark.stage.filter_answers import filter_answers
from millstream.spark.stage.garbage_collector import freeze_imported_modules
from millstream.spark.stage.local_copy import LocalCopy
from millstream.spark.stage.marks import MARK, stage_mark
from millstream.spark.stage.packets import TaskProgress, unseal
from millstream.spark.stage.unnest import Nested, unnested
from millstream.spark.stage.wire import to_wire

PORTION_ROWS = 100_000


class PendingBlobs:
    """Blobs of a bucket: read once, and written back at the end of a batch."""

    def __init__(self, stored: Mapping[str, bytes | pa.Buffer]) -> None:
        self._stored = stored
        self._sizes = {name: len(blob) for name, blob in stored.items()}
        self.puts: dict[str, bytes] = {}
        self.deletes: set[str] = set()

    def get(self, name: str) -> bytes | None:
        """The blob of that name, None if there is none."""
        found = None if name in self.deletes else self.puts.get(name, self._stored.get(name))
        return found.to_pybytes() if isinstance(found, pa.Buffer) else found

    def put(self, name: str, blob: bytes) -> None:
        """Keep a blob."""
        self.puts[name] = blob
        self.deletes.discard(name)

    def delete(self, name: str) -> None:
        """Forget a blob."""
        self.puts.pop(name, None)
        self.deletes.add(name)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes | pa.Buffer]]:
        """All blobs whose names begin so, by name."""
        now = {**{n: b for n, b in self._stored.items() if n not in self.deletes}, **self.puts}
        yield from ((name, now[name]) for name in sorted(now) if name.startswith(prefix))

    @property
    def size(self) -> int:
        """The bytes of all blobs, also of those that are about to be written."""
        gone = {*self.puts, *self.deletes}
        filter_answers = sum(size for name, size in self._sizes.items() if name not in gone)
        return filter_answers + sum(map(len, self.puts.values()))

    def settle(self) -> None:
        """Begin anew after everything has been written; what was read is no longer needed."""
        self._sizes.update((name, len(blob)) for name, blob in self.puts.items())
        for name in self.deletes:
            self._sizes.pop(name, None)
        self._stored = {}
        self.puts = {}
        self.deletes = set()


class _Run(NamedTuple):
    """An operator that this process has run: at which start of its query, and at which version of its state."""

    start: str
    version: int
    operator: Operator
    inputs: FeedProgress
    blobs: PendingBlobs


_CACHE: dict[tuple[str, int, int], _Run] = {}
"""The operators that this process has run, by query, stage and bucket."""


@dataclass(frozen=True)
class Outlet:
    """What a stage is: its operator, its inputs, what it promises.

    `answers` are the columns that it gives to Spark, MARK among them; `lists` are those that it unnests for that, and
    `holds` says which rows it gives.
    `promises` are the columns of its answers that the operator's promise is about, and by how much they lag behind it.
    `names` are the columns of its answers that are called otherwise in the state. `start` tells the starts of a query
    apart: between two it may have been edited, so that it answers otherwise from the same state.
    """

    query: str
    number: int
    answers: pa.Schema
    make: Callable[[Blobs], Operator]
    feeds: tuple[Feed, ...]
    promises: tuple[tuple[str, int], ...] = ()
    lists: tuple[Nested, ...] = ()
    holds: ArrowExpression | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    start: str = field(default_factory=lambda: secrets.token_hex(8))


class BucketRun:
    """A batch of one bucket: all data first, then the progress they carry, then the state is written."""

    def __init__(self, outlet: Outlet, bucket: int, blobs: Any, version: Any) -> None:
        self._outlet = outlet
        self._bucket = bucket
        self._blobs = blobs
        self._version = version
        self._place = (outlet.query, outlet.number, bucket)
        self._copy = LocalCopy(*self._place)

    def run(self, payloads: Iterable[bytes]) -> Iterator[pd.DataFrame]:
        """The answers to what the packets hold, and the mark of the bucket."""
        known = self._version.get()
        version = int(known[0]) if known else 0
        operator, inputs, pending = self._load(version)
        late = [0] * len(self._outlet.feeds)
        rejected = list(late)
        said: list[TaskProgress] = []
        held: dict[int, list[tuple[pa.Table, Runs]]] = {}
        tuples, micros = list(late), list(late)
        begun, rows, size = time.perf_counter(), 0, 0
        for payload in payloads:
            table, progress = unseal(payload)
            rows += table.num_rows
            size += len(payload)
            rejected[progress.feed or 0] += progress.rejected
            tuples[progress.feed or 0] += progress.tuples
            micros[progress.feed or 0] += progress.micros
            if progress.busy is not None:
                operator.note_busy_places(progress.busy)
            said.append(progress)
            if not table.num_columns or progress.feed is None:  # a mark carries nothing but progress
                continue
            feed = self._outlet.feeds[progress.feed]
            if feed.order is None:
                late[progress.feed] += operator.process(table, feed.port)
            else:
                held.setdefault(progress.feed, []).append((table, progress.runs))
        for number, packets in sorted(held.items()):
            feed = self._outlet.feeds[number]
            assert feed.order is not None  # noqa: S101
            for table in in_order(feed.order, number, packets, inputs.arrived):
                late[number] += operator.process(table, feed.port)
        inputs.take(said)
        ended = inputs.ended(said)
        answers = [a for a in self._answers(operator, inputs.punctuation(said, ended), said) if a.num_rows]
        inputs.save(pending)
        state = pending.size
        self._save(version, operator, inputs, pending)
        given = [self._given(a) for a in _gathered(answers)]
        heard = [any(p.feed == n and p.newest is not None for p in said) for n in range(len(late))]
        passed = [w.time for w in inputs.watermarks]
        final = inputs.is_over(ended)
        work = BucketWork(rows, time.perf_counter() - begun).packed
        promises = self._promises(operator)
        newest = [w.newest for w in inputs.watermarks]
        waits = operator.waits
        counted = {"tuples": tuples, "micros": micros, "bytes": size}
        sizes = {**counted, "out": sum(rows.num_rows for rows in given), "state": state}
        said_of_it = stage_mark(
            self._bucket, promises, late, rejected, heard, passed, newest, final, waits, work, sizes
        )
        mark = pa.table({MARK: pa.array([said_of_it])})
        for portion in _portions(given, mark):
            yield to_wire(portion, self._outlet.answers)
        freeze_imported_modules()

    def _given(self, answers: pa.Table) -> pa.Table:
        names = self._outlet.names
        answers = answers.rename_columns([names.get(name, name) for name in answers.column_names]) if names else answers
        rows = unnested(answers, self._outlet.lists)
        return rows if self._outlet.holds is None else filter_answers(rows, self._outlet.holds)

    def _promises(self, operator: Operator) -> dict[str, int]:
        promise = operator.promise
        by_lag = {} if promise is None else {name: promise - lag for name, lag in self._outlet.promises}
        return {**by_lag, **operator.promises}

    def _answers(
        self, operator: Operator, punctuation: Iterable[Punctuation], said: Sequence[TaskProgress]
    ) -> Iterator[pa.Table]:
        """What the operator answers to the progress of a batch."""
        for one in punctuation:
            yield from operator.punctuate(one)
        if any(progress.ticks for progress in said):
            yield from operator.tick()
        yield from operator.end_batch()

    def _load(self, version: int) -> tuple[Operator, FeedProgress, PendingBlobs]:
        """The operator as it was after the last batch. Spark may run a bucket anywhere: a cache must prove its age."""
        # Taken out until the batch is done: an operator that was left in the middle of one must not be used again.
        cached = _CACHE.pop(self._place, None)
        if cached and (cached.start, cached.version) == (self._outlet.start, version):
            return cached.operator, cached.inputs, cached.blobs
        pending = PendingBlobs(self._stored(version) if version else {})
        return self._outlet.make(pending), FeedProgress(self._outlet.feeds, pending), pending

    def _stored(self, version: int) -> Mapping[str, bytes | pa.Buffer]:
        copied = self._copy.load(version)
        if copied is not None:
            return copied
        stored = {str(k[0]): bytes(v[0]) for k, v in self._blobs.iterator()}
        self._copy.fill(version, stored)
        return stored

    def _save(self, old: int, operator: Operator, inputs: FeedProgress, pending: PendingBlobs) -> None:
        for name in pending.deletes:
            self._blobs.removeKey((name,))
        for name, blob in pending.puts.items():
            self._blobs.updateValue((name,), (blob,))
        # Drawn by lot, so that the state of a batch that failed is never taken for that of the one that took its place.
        new = secrets.randbelow(2**62) + 1
        self._version.update((new,))
        self._copy.save(old, new, pending.puts, pending.deletes)
        pending.settle()
        _CACHE[self._place] = _Run(self._outlet.start, new, operator, inputs, pending)


def _portions(answers: Iterable[pa.Table], mark: pa.Table) -> Iterator[pa.Table]:
    """The answers and the mark in as few tables as may be, for Spark's own work for each costs more than its rows."""
    portions = list(_gathered(answers))
    last = [portions.pop()] if portions and portions[-1].num_rows < PORTION_ROWS else []
    yield from portions
    yield pa.concat_tables([*last, mark], promote_options="default")


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables in fewer, none of them copied; but large ones go as they are."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= PORTION_ROWS:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)
