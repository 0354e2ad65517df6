"""UNION: only the first of equal tuples passes, while more of them may come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.codes import Numbers
from millstream.operators.tuples.on_time import OnTime
from millstream.operators.tuples.tuple_log import Bools
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.punctuation import Punctuation

ROW = "__row"
"""The column of row numbers."""

SEEN = "seen/"
"""How the names of the blobs of slices begin."""

SLICE = 1 << 16
"""The most tuples of a slice."""

MOST_SLICES = 256
"""Of more slices, small ones are put together."""


class UniqueTuples(OnTime):
    """Lets a tuple pass, at the end of its batch, if no equal one has passed; equal ones have the same time.

    NULL equals NULL here, NaN equals NaN, and 0.0 equals -0.0. What has passed is remembered until the low-watermark
    passes it: equal tuples that come then are late.
    """

    def __init__(self, names: tuple[str, ...], blobs: Blobs) -> None:
        super().__init__(blobs)
        self._keys = [TIME, *names]
        self._seen = _Seen(self._keys, blobs)

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """Move the low-watermark. The end of a stream does not: nothing waits for it."""
        if not punctuation.group and not punctuation.final:
            self._move(punctuation.time)
        return iter(())

    def end_batch(self) -> Iterator[pa.Table]:
        """The tuples of this batch that no equal one has gone before."""
        answers: list[pa.Table] = []
        passed: pl.DataFrame | None = None
        if self._fresh:
            fresh, self._fresh = pa.concat_tables(self._fresh, promote_options="default"), []
            tuples = _frame(fresh.select(self._keys))
            new = self._seen.new(tuples)
            answers = [fresh.filter(pa.array(new)).drop_columns([TIME])] if new.any() else []
            passed = tuples.filter(new)
        # Only now: tuples of this batch are judged by the low-watermark as it was before.
        if self.low_watermark is not None:
            self._seen.forget(self.low_watermark)
        if passed is not None:
            self._seen.add(passed if self.low_watermark is None else passed.filter(pl.col(TIME) >= self.low_watermark))
        yield from answers


class _Slice(NamedTuple):
    """Tuples in the order of their times; `stored` is how many its blob holds, the forgotten ones among them."""

    tuples: pl.DataFrame
    times: Numbers
    stored: int

    def between(self, oldest: int, newest: int) -> pl.DataFrame:
        begin, end = np.searchsorted(self.times, (oldest, newest + 1)).tolist()
        return self.tuples[begin:end]


class _Seen:
    """The tuples that have passed: slices of time, each a blob that is written once.

    A batch adds slices of its own, so that a slice spans the time of a batch and goes as a whole. Slices overlap as far
    as the stream is out of order: only those that share times with a batch are searched.
    """

    def __init__(self, keys: Sequence[str], blobs: Blobs) -> None:
        self._keys = list(keys)
        self._blobs = blobs
        self._slices: dict[str, _Slice] = {}
        self._next = 0
        for name, blob in blobs.scan(SEEN):
            self._hold(name, from_bytes(blob))

    def new(self, tuples: pl.DataFrame) -> Bools:
        """Which tuples are the first of their kind."""
        numbered = tuples.with_row_index(ROW).unique(self._keys, keep="first")
        times = tuples[TIME].to_numpy()
        oldest, newest = int(times.min()), int(times.max())
        known = [part for s in self._slices.values() if len(part := s.between(oldest, newest))]
        if known:
            numbered = numbered.join(pl.concat(known), on=self._keys, how="anti", nulls_equal=True)
        new = np.zeros(len(tuples), dtype=np.bool_)
        new[numbered[ROW].to_numpy()] = True
        return new

    def add(self, tuples: pl.DataFrame) -> None:
        """Remember tuples."""
        tuples = tuples.sort(TIME)
        for begin in range(0, len(tuples), SLICE):
            name = f"{SEEN}{self._next:09d}"
            # Of text only what the slice needs is copied: a view would bring along all that its batch held.
            table = tuples[begin : begin + SLICE].to_arrow(compat_level=pl.CompatLevel.oldest())
            self._blobs.put(name, to_bytes(table))
            self._hold(name, table)

    def forget(self, until: int) -> None:
        """Let go of the tuples before a time. Their blobs stay while others are in them, up to a share of one half."""
        for name, (tuples, times, stored) in list(self._slices.items()):
            gone = int(np.searchsorted(times, until))
            if gone == len(times):
                self._drop(name)
            elif gone:
                self._slices[name] = _Slice(tuples[gone:], times[gone:], stored)
        slices = self._slices.values()
        live = sum(len(s.tuples) for s in slices)
        small = len(slices) > MOST_SLICES and 2 * live < SLICE * len(slices)
        if small or 2 * live < sum(s.stored for s in slices):
            rest = pl.concat([s.tuples for s in slices])
            for name in list(self._slices):
                self._drop(name)
            self.add(rest)

    def _hold(self, name: str, table: pa.Table) -> None:
        tuples = _frame(table)
        self._slices[name] = _Slice(tuples, tuples[TIME].to_numpy(), len(tuples))
        self._next = int(name.removeprefix(SEEN)) + 1

    def _drop(self, name: str) -> None:
        del self._slices[name]
        self._blobs.delete(name)


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101  (a table is never a series)
    return frame
