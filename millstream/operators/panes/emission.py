"""Answers of windows while they fill: EMIT [Badiozamy 2013, section 2.1]."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.answers import results
from millstream.operators.blobs import Blobs
from millstream.operators.panes.busy_panes import BusyPanes
from millstream.operators.panes.finer_panes import FinerPanes
from millstream.operators.panes.states import Pane, Rows, total_of
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.windows.emit import Pace
from millstream.windows.panes import Paned
from millstream.windows.tuples import Ids

TOUCHED = "touched"


def window_of(work: WindowAggregateJob) -> Paned:
    """The window of a job, with panes so fine that all its answers can be read from them."""
    window = work.window.paned
    if window is None:
        raise TypeError(f"{work.window} is not made of panes")
    if work.emit is not None and work.emit.pace is Pace.EVENT:
        return FinerPanes(window, work.emit.every)
    return window


def forming(window: Paned, every: int, panes: Iterable[int], old: int | None, new: int) -> Iterator[tuple[int, int]]:
    """The event times old < e <= new at which a window is answered that has something and is not complete, and which.

    They are origin + k * every; where one window ends and the next is partly full, its end is answer enough. `panes`
    are those that there are, in order: far from all of them nothing is answered.
    """
    origin = window.origin
    following = None if old is None else origin + ((old - origin) // every + 1) * every
    for pane in panes:
        first = origin - (origin - window.pane_start(pane + 1)) // every * every
        first = first if following is None else max(first, following)
        last = min(new, window.bounds(window.last_wid_of_pane(pane))[1] - 1)
        following = max(first, origin + ((last - origin) // every + 1) * every)
        for time in range(first, following, every):
            wid = window.first_open(time)
            start, _ = window.bounds(wid)
            if window.bounds(wid - 1)[1] != time and (start is None or start < time):
                yield time, wid


def forming_landmarks(
    window: Paned, every: int, busy: BusyPanes, old: int | None, new: int
) -> Iterator[tuple[int, int]]:
    """The same of windows that go on for ever: the times before which something came since the one before."""
    for time in busy.beats(every).tolist():
        if (old is None or old < time) and time <= new:
            wid = window.first_open(time)
            if window.bounds(wid - 1)[1] != time:
                yield time, wid


def still_open(window: Paned, low_watermark: int | None, touched: Sequence[int], busy: BusyPanes | None) -> list[int]:
    """The windows that hold any of the touched panes, which are in order, and are not complete."""
    before = None if low_watermark is None else window.first_open(low_watermark)
    if busy is not None:
        firsts = [window.first_wid_of_pane(pane) for pane in touched[:1]]
        first = max(firsts if before is None else [*firsts, before]) if firsts else 0
        return [wid for wid in busy.wids.tolist() if wid >= first] if firsts else []
    found: set[int] = set()
    for pane in touched:
        first = window.first_wid_of_pane(pane)
        first = first if before is None else max(first, before)
        found.update(range(first, window.last_wid_of_pane(pane) + 1))
    return sorted(found)


@dataclass
class BatchTouches:
    """What a batch has changed so far: the keys, by pane, and the panes as they were before."""

    rows: dict[int, list[Rows]] = field(default_factory=dict)
    before: dict[int, Pane | None] = field(default_factory=dict)

    def add(self, pane: int, rows: Rows, before: Pane | None) -> None:
        """Take note of a change."""
        self.rows.setdefault(pane, []).append(rows)
        self.before.setdefault(pane, before)

    def rows_in(self, span: Ids) -> Rows:
        """The keys that changed in any of the panes."""
        return np.unique(np.concatenate([part for pane in self.rows if pane in span for part in self.rows[pane]]))


def due_rows(
    work: WindowAggregateJob, span: Ids, panes: Mapping[int, Pane], touches: BatchTouches
) -> tuple[Rows, Pane]:
    """The keys of a window that are to be answered because of what a batch did to it, and their states."""
    rows = touches.rows_in(span)
    earlier: dict[int, Pane | None] = {**panes, **touches.before}
    emit = work.emit
    if emit is not None and emit.pace is Pace.ROWS:
        count = work.calls[:1]
        ((old,),), ((new,),) = total_of(count, span, earlier, rows), total_of(count, span, panes, rows)
        rows = rows[new // emit.every > old // emit.every]
        return rows, total_of(work.calls, span, panes, rows)
    before, after = total_of(work.calls, span, earlier, rows), total_of(work.calls, span, panes, rows)
    changed: npt.NDArray[np.bool_] = before[0][0] == 0
    for old, new in zip(results(work, before).values(), results(work, after).values(), strict=True):
        changed |= _differ(old, new)
    keep = np.flatnonzero(changed)
    return rows[keep], tuple(tuple(component[keep] for component in state) for state in after)


def _differ(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Where two columns are distinct; NULL and NaN equal themselves."""
    if pa.types.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([repr(a) != repr(b) for a, b in pairs], dtype=np.bool_)
    unequal = pc.fill_null(pc.not_equal(left, right), False)
    if pa.types.is_floating(left.type):
        unequal = pc.and_not(unequal, pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    differ: npt.NDArray[np.bool_] = pc.or_(unequal, pc.xor(pc.is_null(left), pc.is_null(right))).to_numpy(
        zero_copy_only=False
    )
    return differ


class WallTouches:
    """The panes that have changed since the wall clock last asked; they are kept, for it may ask much later."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        record = blobs.get(TOUCHED)
        self.panes: set[int] = set(json.loads(record)) if record else set()

    def add(self, panes: Iterable[int]) -> None:
        """Take note of changes."""
        self._set(self.panes.union(panes))

    def taken(self) -> list[int]:
        """All of them, and begin anew."""
        panes = sorted(self.panes)
        self._set(set())
        return panes

    def move(self, gone: Iterable[int], into: int | None = None) -> None:
        """Some panes are no more, or have become part of another."""
        moved = self.panes.intersection(gone)
        if moved:
            self._set(self.panes - moved | ({into} if into is not None else set()))

    def _set(self, panes: set[int]) -> None:
        if panes != self.panes:
            self.panes = panes
            self._blobs.put(TOUCHED, json.dumps(sorted(panes)).encode())
