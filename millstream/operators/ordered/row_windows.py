"""Windows of rows: an answer per group after every m tuples of a partition, over the last n of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from millstream.aggregates.count_star import CountStar
from millstream.aggregates.max import Max
from millstream.aggregates.min import Min
from millstream.operators.answers import END, STAMP, START
from millstream.operators.blobs import Blobs
from millstream.operators.codes import Numbers, dense_groups
from millstream.operators.ordered.final_order import FinalOrder
from millstream.operators.ordered.frame_states import Bools, frame_answers
from millstream.operators.ordered.ordered import Ordered
from millstream.operators.ordered.totals import Totals
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.windows.rows import Rows
from millstream.windows.tuples import Order, expand_ids


class Extents(NamedTuple):
    """Windows over tuples in their final order, by partition; both ends ascend. Window i has first[i] .. last[i]."""

    first: Numbers
    last: Numbers
    start: Numbers
    end: Numbers


class TupleWindows(Ordered):
    """One bucket of windows that depend on the tuples, with an answer per window and group."""

    def __init__(self, work: WindowAggregateJob, blobs: Blobs, order: Order) -> None:
        partition = work.keys[: work.partition]
        super().__init__([name for name, _ in partition], blobs, order)
        self._work = work
        self._counts = Totals(partition, [CountStar([])], blobs)

    @abstractmethod
    def _extents(self, arranged: FinalOrder, ranks: Numbers) -> Extents:
        """The windows that the new tuples complete; `ranks` are those of the tuples in their partitions, from 0."""

    @abstractmethod
    def _needed(self, arranged: FinalOrder, ranks: Numbers, until: int) -> Bools:
        """The tuples that windows still to come will have."""

    def _settle(self, arranged: FinalOrder, until: int) -> tuple[list[pa.Table], Bools]:
        ranks = self._ranks(arranged)
        extents = self._extents(arranged, ranks)
        answers = [self._answers(arranged, extents)] if len(extents.first) else []
        return answers, self._needed(arranged, ranks, until)

    def _ranks(self, arranged: FinalOrder) -> Numbers:
        """Ranks that go on from those of tuples that have gone; the new tuples are counted."""
        places = np.arange(len(arranged.order))
        heads = np.flatnonzero(places == arranged.begins)
        numbers = self._counts.find(arranged.table.take(pa.array(arranged.order[heads])))
        ((settled,),) = (self._counts.of(0, numbers),)
        lengths = (arranged.ends - arranged.begins)[heads]
        ranks = np.repeat(settled, lengths) + places - arranged.news
        if arranged.new.any():
            self._counts.add(0, np.repeat(numbers, lengths)[arranged.new], [], arranged.times[arranged.new])
            self._counts.save()
        return ranks

    def _answers(self, arranged: FinalOrder, extents: Extents) -> pa.Table:
        """An answer for each window and each group that has a tuple in it."""
        size = len(arranged.order)
        columns = [arranged.column(name) for name in self._work.key_names]
        groups, firsts = dense_groups(columns, size)
        by_group = np.argsort(groups, kind="stable")
        group = groups[by_group]
        # A tuple adds the windows that it belongs to and the tuple of its group before it does not.
        begin = np.searchsorted(extents.last, by_group)
        end = np.searchsorted(extents.first, by_group, side="right")
        begin[1:] = np.where(np.diff(group) == 0, np.maximum(begin[1:], end[:-1]), begin[1:])
        places, windows = expand_ids(begin, end - 1)
        of = group[places]
        sequence = group * (size + 1) + by_group
        first = np.searchsorted(sequence, of * (size + 1) + extents.first[windows])
        last = np.searchsorted(sequence, of * (size + 1) + extents.last[windows], side="right") - 1
        data = {n: c.take(pa.array(firsts[of])) for n, c in zip(self._work.key_names, columns, strict=True)}
        ranks = arranged.ranks[by_group]
        rows = pa.array(by_group)
        for call in self._work.calls:
            if not call.names:
                continue
            arguments = [arranged.column(name).take(rows) for name in call.arguments]
            counts: Bools | None = None
            if call.condition is not None:
                counts = arranged.passing(call.condition)[by_group]
            found = frame_answers(call.aggregate, arguments, ranks, first, last, counts)
            data.update(dict.fromkeys(call.names, found))
        data[START] = pa.array(extents.start[windows], STAMP)
        data[END] = pa.array(extents.end[windows], STAMP)
        return pa.table(data).take(pa.array(np.argsort(windows, kind="stable")))


class RowWindows(TupleWindows):
    """One bucket of row windows. A window answers when its last tuple is settled; until it is full it never does."""

    def __init__(self, work: WindowAggregateJob, blobs: Blobs) -> None:
        window = work.window
        assert isinstance(window, Rows)  # noqa: S101  (see operators/registry.py)
        super().__init__(work, blobs, window.order)
        self._window = window

    def _extents(self, arranged: FinalOrder, ranks: Numbers) -> Extents:
        last = np.flatnonzero(arranged.new & ((ranks + 1) % self._window.slide == 0))
        first = last - np.minimum(self._window.range, ranks[last] + 1) + 1
        if self._order == "rank":
            return Extents(first, last, arranged.times[first], arranged.times[last])
        column = [pa.array(arranged.times)]
        ends = (frame_answers(kind([pa.int64()]), column, arranged.times, first, last) for kind in (Min, Max))
        return Extents(first, last, *(found.to_numpy() for found in ends))

    def _needed(self, arranged: FinalOrder, ranks: Numbers, until: int) -> Bools:
        slide = self._window.slide
        count = ranks[arranged.ends - 1] + 1
        return ranks >= (count // slide + 1) * slide - self._window.range
