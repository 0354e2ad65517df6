"""OVER with built-in aggregates: every tuple, or the last of every slide, with the answers over its frames."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import State
from millstream.aggregates.count_star import CountStar
from millstream.operators.blobs import Blobs
from millstream.operators.codes import Numbers
from millstream.operators.ordered.final_order import FinalOrder
from millstream.operators.ordered.frame_states import Bools, frame_answers
from millstream.operators.ordered.totals import Totals
from millstream.operators.over.framed_over import FramedOver
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.window_aggregate_job import Call


class OverAggregate(FramedOver):
    """One bucket of OVER calls, which share the tuples.

    Tuples are kept as far back as the longest frame reaches. UNBOUNDED PRECEDING reaches back by a total per
    partition instead. When a stream ends inside a slide, its last tuple so far answers; if the stream goes on later,
    the last tuple of the rest of that slide answers too.
    """

    def __init__(self, work: OverAggregateJob, blobs: Blobs) -> None:
        super().__init__(work, blobs)
        self._unbounded = [framed.call for framed in work.calls if framed.window.reach is None]
        # The first total counts the tuples: every n-th answers.
        aggregates = [CountStar([]), *(call.aggregate for call in self._unbounded)]
        self._totals = Totals(work.partition, aggregates, blobs) if self._unbounded or self._every > 1 else None

    def _horizon(self, until: int) -> int | None:
        windows = [framed.window for framed in self._work.calls]
        if self._order == "row" or not all(window.by_time for window in windows):
            return None
        return until - max(window.reach or 0 for window in windows)

    def _settle(self, arranged: FinalOrder, until: int) -> tuple[list[pa.Table], Bools]:
        numbers = self._numbers(arranged)
        current = self._answering(arranged, numbers)
        answers: dict[str, pa.Array] = {}
        if len(current):
            # Those that answer come out in their order, whatever their partitions.
            current = current[np.argsort(arranged.ranked_by[current], kind="stable")]
            rows = pa.array(arranged.order[current])
            answers = {name: arranged.table[name].combine_chunks().take(rows) for name in self._work.carried}
            for framed in self._work.calls:
                found = self._answers(framed, arranged, current, numbers)
                answers.update(dict.fromkeys(framed.call.names, found))
        self._add(arranged, numbers)
        needed = np.zeros(len(arranged.order), dtype=np.bool_)
        for framed in self._work.calls:
            if (reach := framed.window.reach) is not None:
                needed |= (
                    arranged.times >= until - reach
                    if framed.window.by_time
                    else np.arange(len(needed)) >= arranged.ends - reach
                )
        return ([pa.table(answers)] if answers else []), needed

    def _numbers(self, arranged: FinalOrder) -> Numbers:
        """For each new tuple the number of its partition among the totals."""
        numbers = np.zeros(len(arranged.order), dtype=np.int64)
        if self._totals is not None:
            heads = np.flatnonzero(arranged.new & (np.arange(len(numbers)) == arranged.news))
            found = self._totals.find(arranged.table.take(pa.array(arranged.order[heads])))
            numbers[arranged.new] = np.repeat(found, (arranged.ends - arranged.news)[heads])
        return numbers

    def _answering(self, arranged: FinalOrder, numbers: Numbers) -> Numbers:
        current = np.flatnonzero(arranged.new)
        if self._slots is not None and len(current):
            slots = self._slots.number(arranged.times[current])
            changes = (np.diff(slots) != 0) | (np.diff(arranged.partition[current]) != 0)
            current = current[np.append(changes, True)]
        elif self._every > 1 and self._totals is not None:
            ranks = self._totals.of(0, numbers[current])[0] + current - arranged.news[current]
            current = current[(ranks + 1) % self._every == 0]
        return current

    def _answers(self, framed: OverCall, arranged: FinalOrder, current: Numbers, numbers: Numbers) -> pa.Array:
        call, window = framed.call, framed.window
        before: State | None = None
        if self._totals is not None and window.reach is None:
            first = arranged.news[current]
            before = self._totals.of(1 + self._unbounded.index(call), numbers[current])
        elif window.by_time:
            first = arranged.seek(arranged.partition[current], arranged.times[current] - (window.reach or 0))
        else:
            first = np.maximum(current - (window.reach or 0), arranged.begins[current])
        last = current
        if window.by_time:
            last = arranged.seek(arranged.partition[current], arranged.times[current], "right") - 1
        arguments = [arranged.column(name) for name in call.arguments]
        return frame_answers(call.aggregate, arguments, arranged.ranks, first, last, _counts(call, arranged), before)

    def _add(self, arranged: FinalOrder, numbers: Numbers) -> None:
        """Add the new tuples to the totals."""
        if self._totals is None or not arranged.new.any():
            return
        self._totals.add(0, numbers[arranged.new], [], arranged.times[arranged.new])
        for nth, call in enumerate(self._unbounded, 1):
            counts = _counts(call, arranged)
            chosen = arranged.new if counts is None else arranged.new & counts
            arguments = [arranged.column(name).filter(pa.array(chosen)) for name in call.arguments]
            self._totals.add(nth, numbers[chosen], arguments, arranged.ranks[chosen])
        self._totals.save()


def _counts(call: Call, arranged: FinalOrder) -> Bools | None:
    return None if call.condition is None else arranged.passing(call.condition)
