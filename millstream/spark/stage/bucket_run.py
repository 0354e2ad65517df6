"""A batch of one bucket: its operator and state are found, fed, and written back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from millstream.operators.contract import Operator
from millstream.spark.stage.bucket_state import BucketState
from millstream.spark.stage.feeds import FeedProgress
from millstream.spark.stage.garbage_collector import freeze_imported_modules
from millstream.spark.stage.give_answers import give_answers
from millstream.spark.stage.marks import MARK
from millstream.spark.stage.operator_batch import OperatorBatch
from millstream.spark.stage.outlet import Outlet
from millstream.spark.stage.pending_blobs import PendingBlobs
from millstream.spark.stage.wire import to_wire

PORTION_ROWS = 100_000


class _Run(NamedTuple):
    """An operator that this process has run: at which start of its query, and at which version of its state."""

    start: str
    version: int
    operator: Operator
    inputs: FeedProgress
    blobs: PendingBlobs


_CACHE: dict[tuple[str, int, int], _Run] = {}
"""The operators that this process has run, by query, stage and bucket."""


class BucketRun:
    """A batch of one bucket: all data first, then the progress they carry, then the state is written."""

    def __init__(self, outlet: Outlet, bucket: int, blobs: Any, version: Any) -> None:
        self._outlet = outlet
        self._bucket = bucket
        self._place = (outlet.query, outlet.number, bucket)
        self._state = BucketState(*self._place, blobs, version)

    def run(self, payloads: Iterable[bytes]) -> Iterator[pd.DataFrame]:
        """The answers to what the packets hold, and the mark of the bucket."""
        outlet = self._outlet
        operator, inputs, pending = self._load()
        batch = OperatorBatch(operator, outlet.feeds, inputs)
        answers = batch.run(payloads, pending)
        size = pending.size
        _CACHE[self._place] = _Run(outlet.start, self._state.save(pending), operator, inputs, pending)
        rows = [give_answers(a, outlet.names, outlet.lists, outlet.holds) for a in concatenate_small(answers)]
        said = batch.mark(self._bucket, outlet.promises, sum(part.num_rows for part in rows), size)
        for portion in _portions(rows, pa.table({MARK: pa.array([said])})):
            yield to_wire(portion, outlet.answers)
        freeze_imported_modules()

    def _load(self) -> tuple[Operator, FeedProgress, PendingBlobs]:
        """The operator as it was after the last batch. Spark may run a bucket anywhere: a cache must prove its age."""
        # Taken out until the batch is done: an operator that was left in the middle of one must not be used again.
        cached = _CACHE.pop(self._place, None)
        if cached and (cached.start, cached.version) == (self._outlet.start, self._state.version):
            return cached.operator, cached.inputs, cached.blobs
        pending = PendingBlobs(self._state.stored())
        return self._outlet.make(pending), FeedProgress(self._outlet.feeds, pending), pending


def _portions(answers: Iterable[pa.Table], mark: pa.Table) -> Iterator[pa.Table]:
    """The answers and the mark in as few tables as may be, for Spark's own work for each costs more than its rows."""
    portions = list(concatenate_small(answers))
    last = [portions.pop()] if portions and portions[-1].num_rows < PORTION_ROWS else []
    yield from portions
    yield pa.concat_tables([*last, mark], promote_options="default")


def concatenate_small(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
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
