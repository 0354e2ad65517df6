"""Slide-by-tuple windows: an answer per group for the range of time that ends at every n-th tuple of a partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.operators.blobs import Blobs
from millstream.operators.codes import Numbers
from millstream.operators.ordered.final_order import FinalOrder
from millstream.operators.ordered.frame_states import Bools
from millstream.operators.ordered.row_windows import Extents, TupleWindows
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.windows.slide_by_tuple import SlideByTuple

ENDS = "__ends"


class SlideByTupleWindows(TupleWindows):
    """One bucket of slide-by-tuple windows. A window answers when the punctuation has passed its end.

    In the order "row" every n-th tuple is known on arrival, and the log says which; late tuples are not counted. The
    windows are ranges of time all the same.
    """

    def __init__(self, work: WindowAggregateJob, blobs: Blobs) -> None:
        window = work.window
        assert isinstance(window, SlideByTuple)  # noqa: S101  (see operators/registry.py)
        super().__init__(work, blobs, "rank")
        self._window = window

    def _stamped(self, table: pa.Table) -> pa.Table:
        if self._window.order == "rank":
            return table
        numbers = self._counts.find(table)
        order = np.argsort(numbers, kind="stable")
        ranks = np.empty(len(numbers), dtype=np.int64)
        ranks[order] = np.arange(len(order)) - np.searchsorted(numbers[order], numbers[order])
        ranks += self._counts.of(0, numbers)[0]
        self._counts.add(0, numbers, [], numbers)
        self._counts.save()
        return table.append_column(ENDS, pa.array((ranks + 1) % self._window.every == 0))

    def _ranks(self, arranged: FinalOrder) -> Numbers:
        if self._window.order == "rank":
            return super()._ranks(arranged)
        return np.zeros(len(arranged.order), dtype=np.int64)  # counted on arrival

    def _extents(self, arranged: FinalOrder, ranks: Numbers) -> Extents:
        if self._window.order == "rank":
            ending = (ranks + 1) % self._window.every == 0
        else:
            ending = arranged.column(ENDS).to_numpy(zero_copy_only=False)
        last = np.flatnonzero(arranged.new & ending)
        # Tuples of one partition and time have one window.
        last = np.unique(arranged.seek(arranged.partition[last], arranged.times[last], "right") - 1)
        ends = arranged.times[last]
        first = arranged.seek(arranged.partition[last], ends - self._window.range, "right")
        return Extents(first, last, ends - self._window.range, ends)

    def _horizon(self, until: int) -> int | None:
        return until - self._window.range + 1

    def _needed(self, arranged: FinalOrder, ranks: Numbers, until: int) -> Bools:
        return arranged.times > until - self._window.range
