"""OVER with user-defined aggregates tuple by tuple, in the order of time, with a state per partition."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.errors import SettingError
from millstream.operators.blobs import Blobs
from millstream.operators.codes import Numbers
from millstream.operators.key_index import KeyIndex
from millstream.operators.ordered.final_order import FinalOrder
from millstream.operators.ordered.frame_states import Bools
from millstream.operators.over.framed_over import FramedOver
from millstream.operators.over.over_aggregate_job import OverAggregateJob
from millstream.operators.over.steps import Columns, Steps, loads
from millstream.progress.punctuation import Punctuation
from millstream.udas.arrow import from_values
from millstream.udas.generated.states import Rows

TOGETHER = 64
"""So many partitions are kept in one blob."""


@dataclass
class _Found:
    """Answers: the places of their tuples, since when they hold, whether their tuple left, and the rows by call."""

    calls: int
    places: list[int] = field(default_factory=list)
    moments: list[int] = field(default_factory=list)
    left: list[bool] = field(default_factory=list)
    rows: list[list[Rows]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = [[] for _ in range(self.calls)]

    def add(self, place: int, moment: int, left: bool) -> None:
        """One answer, whose rows are added to `rows`."""
        self.places.append(place)
        self.moments.append(moment)
        self.left.append(left)


class SteppedOver(FramedOver):
    """One bucket of OVER calls of user-defined aggregates.

    A window aggregate over a finite frame goes by EXPIRE and ITERATE. Over an unbounded frame the base aggregate goes
    on for ever; if it blocks, TERMINATE follows each tuple. A base aggregate over a finite frame runs anew over the
    tuples of the frame, and only for them these tuples are kept.

    With ACTIVE EXPIRATION, which a call must have for itself, EXPIRE runs at the moment that a tuple leaves: the first
    microsecond at which it is in no frame, before the tuples of that time. What it returns is an answer with the
    columns of the tuple that left, and that moment as its time stamp. At the end of a stream all tuples leave.
    """

    def __init__(self, work: OverAggregateJob, blobs: Blobs) -> None:
        super().__init__(work, blobs)
        names = [name for name, _ in work.partition]
        self._index = KeyIndex(names, [type_ for _, type_ in work.partition], blobs, "partitions/")
        self._steps = [Steps(framed) for framed in work.calls]
        self._active = next((steps for steps in self._steps if steps.active), None)
        if self._active is not None and len(self._steps) > 1:
            raise SettingError("an aggregate with ACTIVE EXPIRATION answers at moments of its own: it must be alone")
        self._counts: dict[int, int] = {}
        for _, blob in blobs.scan("steps/"):
            counts, states = loads(bytes(blob))
            self._counts.update(counts)
            for steps, plain in zip(self._steps, states, strict=True):
                steps.restore(plain)

    def _reach(self, punctuation: Punctuation, ranked_by: Numbers | None) -> int | None:
        if punctuation.final and self._active is not None and ranked_by is not None and len(ranked_by):
            # No window outlasts the end: the low-watermark goes to where the last tuple leaves.
            punctuation = Punctuation(int(ranked_by.max()) + (self._active.reach or 0) + 1)
        return super()._reach(punctuation, ranked_by)

    def _horizon(self, until: int) -> int | None:
        keeping = [steps for steps in self._steps if steps.keeps]
        if self._order == "row" or not keeping or not all(steps.by_time for steps in keeping):
            return None
        return until - max(steps.reach or 0 for steps in keeping)

    def _settle(self, arranged: FinalOrder, until: int) -> tuple[list[pa.Table], Bools]:
        heads = np.flatnonzero(arranged.begins == np.arange(len(arranged.order)))
        if self._active is None:
            heads = heads[arranged.news[heads] < arranged.ends[heads]]
        partitions = self._index.find(arranged.table.take(pa.array(arranged.order[heads])))
        columns = [Columns(framed, arranged) for framed in self._work.calls]
        ranked_by: list[int] = arranged.ranked_by.tolist()
        found = _Found(len(self._steps))
        changed: list[int] = []
        news, ends = arranged.news[heads].tolist(), arranged.ends[heads].tolist()
        for start, end, partition in zip(news, ends, partitions.tolist(), strict=True):
            count = self._counts.get(partition, 0)
            left = 0
            yields = self._yields(arranged, start, end, count)
            for place in range(start, end):
                if self._active is not None:
                    left += self._expire(partition, columns[0], start - count, ranked_by[place], found)
                answers_now = place in yields
                if answers_now:
                    found.add(place, ranked_by[place], left=False)
                for steps, column, answers in zip(self._steps, columns, found.rows, strict=True):
                    rows = steps.step(partition, column, place, count + place - start, answers_now)
                    if answers_now:
                        answers.append(rows)
            if self._active is not None:
                left += self._expire(partition, columns[0], start - count, until, found)
            self._counts[partition] = count + end - start
            if left or start < end:
                changed.append(partition)
        self._save_states(np.array(changed, dtype=np.int64))
        found.rows = [column.shared(found.places, rows) for column, rows in zip(columns, found.rows, strict=True)]
        return self._table(arranged, found), self._needed(arranged, until)

    def _expire(self, partition: int, columns: Columns, first: int, until: int, found: _Found) -> int:
        """EXPIRE for all that leave before a time; says for how many."""
        count = 0
        if self._active is not None:
            for place, rows in self._active.expire(partition, columns, first, until):
                count += 1
                if rows:
                    found.add(place, columns.times[place] + (self._active.reach or 0) + 1, left=True)
                    found.rows[0].append(rows)
        return count

    def _yields(self, arranged: FinalOrder, start: int, end: int, count: int) -> frozenset[int] | range:
        """The places of the new tuples of a partition that answer."""
        if self._slots is not None:
            slots = self._slots.number(arranged.times[start:end])
            return frozenset((start + np.flatnonzero(np.append(np.diff(slots) != 0, True))).tolist())
        return range(start + (-count - 1) % self._every, end, self._every)

    def _table(self, arranged: FinalOrder, found: _Found) -> list[pa.Table]:
        if not found.places:
            return []
        moments, left = np.array(found.moments, dtype=np.int64), np.array(found.left, dtype=np.bool_)
        order = np.lexsort((~left, moments))
        rows = pa.array(arranged.order[np.array(found.places, dtype=np.int64)[order]])
        data = {name: arranged.table[name].combine_chunks().take(rows) for name in self._work.carried}
        stamp = self._work.calls[0].window.stamp
        if stamp is not None and stamp in data and left.any():
            data[stamp] = _stamped(data[stamp], moments[order], left[order])
        for framed, steps, answers in zip(self._work.calls, self._steps, found.rows, strict=True):
            aggregate = steps.aggregate
            column = from_values([answers[i] for i in order.tolist()], aggregate.body.result, aggregate.row)
            data.update(dict.fromkeys(framed.call.names, column))
        return [pa.table(data)]

    def _needed(self, arranged: FinalOrder, until: int) -> Bools:
        needed = np.zeros(len(arranged.order), dtype=np.bool_)
        for steps in self._steps:
            if steps.keeps and steps.by_time:
                needed |= arranged.times >= until - (steps.reach or 0)
            elif steps.keeps:
                needed |= np.arange(len(needed)) >= arranged.ends - (steps.reach or 0)
        return needed

    def _save_states(self, partitions: Numbers) -> None:
        for block in np.unique(partitions // TOGETHER).tolist():
            members = range(block * TOGETHER, (block + 1) * TOGETHER)
            counts = {n: self._counts[n] for n in members if n in self._counts}
            self._blobs.put(f"steps/{block:09d}", pickle.dumps((counts, [s.plain(members) for s in self._steps])))


def _stamped(column: pa.Array, moments: Numbers, left: Bools) -> pa.Array:
    """The column of time stamps with the moments of those that have left."""
    own = pa.array(moments)
    if pa.types.is_timestamp(column.type):
        own = own.cast(pa.timestamp("us", column.type.tz))
    return pc.if_else(pa.array(left), own.cast(column.type), column)
