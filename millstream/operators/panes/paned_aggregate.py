"""Window aggregates by panes: partial states are merged into panes, and windows are read from them."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import take
from millstream.operators.answers import EMITTED, END, FINAL, PARTIAL, STAMP, START, answers
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.group_promises import GroupPromises
from millstream.operators.panes.both_panes import BothPanes
from millstream.operators.panes.busy_panes import BusyPanes
from millstream.operators.panes.emission import (
    BatchTouches,
    WallTouches,
    due_rows,
    forming,
    forming_landmarks,
    still_open,
    window_of,
)
from millstream.operators.panes.single_panes import Closed, Gathered
from millstream.operators.panes.states import Pane, Rows, chosen, unpack
from millstream.operators.panes.store import PaneStore
from millstream.operators.panes.window_totals import WindowTotals
from millstream.operators.window_aggregate_job import PANE, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.emit import Pace
from millstream.windows.panes import Paned
from millstream.windows.tuples import Ids

__all__ = ["EMITTED", "END", "STAMP", "START", "PanedAggregate"]


class _Step(NamedTuple):
    """An answer on the way of the low-watermark: when, of which window, over which panes."""

    time: int
    wid: int
    span: Ids
    emitted: str


class PanedAggregate(Operator):
    """One bucket of a grouped window aggregate. State is a blob per pane; a closed pane is never written again.

    Of landmark windows, which never let go of a pane, closed panes are joined into one at the end of a batch.
    """

    def __init__(
        self, work: WindowAggregateJob, blobs: Blobs, filled: BothPanes | None = None, window: Paned | None = None
    ) -> None:
        """`filled` are panes that others take care of, and `window` is the one of the job over them."""
        self._work = work
        self._window = window_of(work) if window is None else window
        self._blobs = blobs
        self._store = PaneStore(work, blobs) if filled is None else cast("PaneStore", filled)
        self._totals = WindowTotals(work.calls)
        self._promises = GroupPromises(dict(work.keys), blobs)
        record = blobs.get("progress")
        self.low_watermark: int | None = json.loads(record)["low_watermark"] if record else None
        if self.low_watermark is not None and not self._window.endless:
            needed = self._window.last_needed_before(self.low_watermark)
            for pane in [p for p in self._store.panes if p < needed]:
                self._store.drop(pane)  # gone already, but for the blob that it shares with others
        pace = work.emit.pace if work.emit else None
        self._wall = WallTouches(blobs) if pace is Pace.WALL else None
        self._touches = BatchTouches() if pace in (Pace.ROWS, Pace.CHANGE) else None
        window = self._window
        self._busy = BusyPanes(window, blobs) if window.endless else None
        if self._busy is not None:
            self._stir(np.array(list(self._store.panes), dtype=np.int64))

    @property
    def promise(self) -> int | None:
        """The low-watermark: windows that end by it have been answered."""
        return self.low_watermark

    @property
    def waits(self) -> int | None:
        """The end of the first window that is not complete."""
        window = self._window
        if self._busy is not None:
            ends = (window.bounds(wid)[1] for wid in self._busy.wids.tolist() if self._store.panes)
            return next((end for end in ends if self.low_watermark is None or end > self.low_watermark), None)
        for pane in sorted(self._store.panes):
            first = window.first_wid_of_pane(pane)
            first = first if self.low_watermark is None else max(first, window.first_open(self.low_watermark))
            if first <= window.last_wid_of_pane(pane):
                return window.bounds(first)[1]
        return None

    def process(self, table: pa.Table, port: int = 0) -> int:
        """Merge partial states into the panes they belong to; says how many tuples came too late for theirs."""
        late = 0
        if self.low_watermark is not None:
            closed = table[PANE].to_numpy() < self._pane_of(self.low_watermark)
            table, late = self._without(table, closed)
        if not table.num_rows:
            return late
        rows = self._store.index.find(table)
        marks = self._promises.marks(self._store.keys)
        if marks is not None:
            closed = table[PANE].to_numpy() < self._window.pane_of(marks[rows])
            table, more = self._without(table, closed)
            rows, late = rows[~closed], late + more
        panes = table[PANE].to_numpy()
        table = table.select(self._work.packed_names)
        if (panes[1:] < panes[:-1]).any():
            order = np.argsort(panes, kind="stable")
            panes, rows, table = panes[order], rows[order], table.take(pa.array(order))
        cuts = np.flatnonzero(np.diff(panes, prepend=panes[0] - 1, append=panes[-1] + 1)) if len(panes) else ()
        for begin, end in pairwise(cuts):
            pane, part = int(panes[begin]), rows[begin:end]
            if self._touches is not None:
                self._touches.add(pane, part, self._store.panes.get(pane))
            self._store.add(pane, part, table.slice(begin, end - begin))
        if self._wall is not None:
            self._wall.add(int(pane) for pane in np.unique(panes))
        self._stir(panes[cuts[:-1]])
        return late

    def note_busy_places(self, places: pa.Array) -> None:
        """Take note of panes, of which others may have tuples too: whether a landmark window is answered is for all."""
        self._stir(places.to_numpy())

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """The answers of all windows that are complete now, oldest first; each comes exactly once."""
        if punctuation.group:
            yield from self._punctuate_group(punctuation)
            return
        until = self._end_of_all(punctuation.time) if punctuation.final else punctuation.time
        if self.low_watermark is not None and until <= self.low_watermark:
            return
        yield from self._single(until) if self._window.apart else self._merged(until, punctuation.time)
        self.low_watermark = until
        self._blobs.put("progress", json.dumps({"low_watermark": until}).encode())
        self._promises.pass_by(until)
        if self._busy is not None:
            emit = self._work.emit
            self._busy.forget(until, emit.every if emit is not None and emit.pace is Pace.EVENT else None)
        self._forget(until)

    def _merged(self, until: int, now: int) -> Iterator[pa.Table]:
        """The answers of windows that may share panes."""
        self._totals.offer(self._store.panes)
        for step in heapq.merge(self._closing(until), self._forming(now), key=lambda s: s.time):
            total = self._totals.over(step.span)
            if total is not None:
                yield from self._answers(step.wid, total, step.emitted)

    def _single(self, until: int) -> Iterator[pa.Table]:
        """The answers of windows of one pane each; what has little is answered together."""
        store, gathered = self._store, Gathered()
        marks = self._promises.marks(store.keys)
        for step in self._closing(until):
            added = store.panes.unread(step.span.start)
            if gathered.takes(added):
                if gathered.add(Closed(*self._window.bounds(step.wid), added)):
                    yield from gathered.answered(self._work, store.index, marks)
            else:
                yield from gathered.answered(self._work, store.index, marks)
                yield from self._answers(step.wid, store.panes[step.span.start], FINAL)
        yield from gathered.answered(self._work, store.index, marks)

    def tick(self) -> Iterator[pa.Table]:
        """All groups of the open windows in which something has changed since the last time."""
        if self._wall is None or not self._store.panes:
            return
        totals = WindowTotals(self._work.calls)
        totals.offer(self._store.panes)
        for wid in self._open(self._wall.taken()):
            total = totals.over(self._window.panes(wid))
            if total is not None:
                yield from self._answers(wid, total, PARTIAL)

    def end_batch(self) -> Iterator[pa.Table]:
        """What EMIT asks for because of what the batch has changed. Then state is tidied up."""
        if self._touches is not None:
            touches, self._touches = self._touches, BatchTouches()
            for wid in self._open(sorted(touches.rows)):
                rows, states = due_rows(self._work, self._window.panes(wid), self._store.panes, touches)
                yield from self._answers(wid, states, PARTIAL, rows)
        if self._window.endless:
            self._join_closed()
        elif self._store.compact():
            self._totals.reset()
        self._store.write(None if self.low_watermark is None else self._pane_of(self.low_watermark))
        self._promises.save()
        if self._busy is not None:
            self._busy.save()

    # -- the way of the low-watermark ----------------------------------------------------------------------

    def _closing(self, until: int) -> Iterator[_Step]:
        """The windows with at least one pane that end after the old low-watermark and not after the new one."""
        window = self._window
        following = None if self.low_watermark is None else window.first_open(self.low_watermark)
        before = window.first_open(until)
        if self._busy is not None:
            for wid in self._busy.wids.tolist():
                if wid < before and (following is None or wid >= following):
                    yield _Step(window.bounds(wid)[1], wid, window.panes(wid), FINAL)
            return
        for pane in sorted(self._store.panes):  # later panes have later windows, so that each is met once
            first = window.first_wid_of_pane(pane)
            first = first if following is None else max(first, following)
            following = max(first, min(before, window.last_wid_of_pane(pane) + 1))
            for wid in range(first, following):
                yield _Step(window.bounds(wid)[1], wid, window.panes(wid), FINAL)

    def _forming(self, until: int) -> Iterator[_Step]:
        """The windows that EMIT answers as event time passes."""
        emit = self._work.emit
        if emit is None or emit.pace is not Pace.EVENT:
            return
        if self._busy is not None:
            found = forming_landmarks(self._window, emit.every, self._busy, self.low_watermark, until)
        else:
            found = forming(self._window, emit.every, sorted(self._store.panes), self.low_watermark, until)
        for time, wid in found:
            yield _Step(time, wid, Ids(self._window.panes(wid).start, self._pane_of(time)), PARTIAL)

    def _end_of_all(self, newest: int) -> int:
        """The end of the last window that any tuple belongs to: where a final punctuation leads."""
        panes = self._store.panes if self._busy is None else [*self._store.panes, *self._busy.panes.tolist()]
        starts = (self._window.pane_start(pane) for pane in panes)
        return self._window.end_of_all(max((newest, *starts)))

    def _punctuate_group(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """The answers of the groups that are promised something, of windows that they have not answered before."""
        until, group = punctuation.time, punctuation.group
        passed = self.low_watermark is not None and until <= self.low_watermark
        if passed or self._window.endless or not self._promises.knows(group):
            return
        rows = np.flatnonzero(self._promises.matches(group, self._store.keys))
        if len(rows):
            calls = self._work.calls
            totals = WindowTotals(calls)
            totals.offer({pane: chosen(calls, states, rows) for pane, states in self._store.panes.items()})
            for step in self._closing(until):
                total = totals.over(step.span)
                if total is not None:
                    yield from self._answers(step.wid, total, FINAL, rows)
        self._promises.add(group, until)

    # -- answers -------------------------------------------------------------------------------------------

    def _answers(self, wid: int, total: Pane, emitted: str, rows: Rows | None = None) -> Iterator[pa.Table]:
        """The answers of a window, given the states of all keys, or of some; none from keys that have had theirs."""
        start, end = self._window.bounds(wid)
        present = total[0][0] > 0
        marks = self._promises.marks(self._store.keys)
        if marks is not None:
            present &= (marks[: len(present)] if rows is None else marks[rows]) < end
        at = np.flatnonzero(present)
        if not len(at):
            return
        keys = self._store.keys.take(pa.array(at if rows is None else rows[at]))
        starts = pa.nulls(len(at), STAMP) if start is None else pa.array(np.full(len(at), start), STAMP)
        ends = pa.array(np.full(len(at), end), STAMP)
        yield answers(self._work, keys, [take(state, at) for state in total], starts, ends, emitted)

    def _open(self, touched: list[int]) -> list[int]:
        return still_open(self._window, self.low_watermark, touched, self._busy)

    def _stir(self, panes: Rows) -> None:
        if self._busy is not None:
            closed = None if self.low_watermark is None else self._pane_of(self.low_watermark)
            self._busy.add(panes if closed is None else panes[panes >= closed])

    def _pane_of(self, time: int) -> int:
        return int(self._window.pane_of(np.array([time]))[0])

    def _without(self, table: pa.Table, closed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[pa.Table, int]:
        """The table without the rows of closed panes, and the number of tuples in these."""
        if not closed.any():
            return table, 0
        late = unpack(self._work, table.filter(pa.array(closed)))
        return table.filter(pa.array(~closed)), int(late[0][0].sum())

    # -- letting go ----------------------------------------------------------------------------------------

    def _forget(self, until: int) -> None:
        needed = self._window.last_needed_before(until)
        gone = [p for p in self._store.panes if p < needed]
        for pane in gone:
            self._store.drop(pane)
        if self._wall is not None:
            self._wall.move(gone)

    def _join_closed(self) -> None:
        """Join the panes that will not change any more into the newest of them."""
        if self.low_watermark is None:
            return
        before = self._pane_of(self.low_watermark)
        *older, newest = sorted(p for p in self._store.panes if p < before) or [0]
        if not older:
            return
        self._totals.offer(self._store.panes)
        total = self._totals.over(Ids(older[0], before))
        if total is None:
            return
        self._store.put(newest, total)
        for pane in older:
            self._store.drop(pane)
        if self._wall is not None:
            self._wall.move(older, newest)
        self._totals.reset()
