"""Slide-by-tuple windows: a range of time that ends at every n-th tuple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from millstream.structure import Structure
from millstream.windows.contract import Window
from millstream.windows.emit import COMPLETED_BY_A_TUPLE
from millstream.windows.tuples import Ints, Order, Times, Tuple, arranged, expand_ids, ordered, require_positive
from millstream.windows.words import duration, rows

_COUNTED = {"row": "by arrival", "rank": "by time stamp"}


@dataclass(frozen=True)
class SlideByTuple(Window[int]):
    """Window w is (w - range, w], for the times w of every n-th tuple [Li 2008, Eq. 5.10 to 5.18].

    The n-th, 2n-th, ... tuples are those of the arrival numbers n, 2n, ... (order "row", Eq. 5.10 to 5.15), or of
    these ranks in time-stamp order, ties by number (order "rank", Eq. 5.16 to 5.18). Tuples of one time have one
    window.

    >>> every_second = SlideByTuple(range=10, every=2)
    >>> tuples = [Tuple(10, 1), Tuple(20, 2), Tuple(11, 3), Tuple(21, 4)]
    >>> sorted(every_second.windows(tuples))
    [20, 21]
    >>> sorted(SlideByTuple(range=10, every=2, order="rank").windows(tuples))
    [11, 21]
    >>> [t.time for t in every_second.extent(20, tuples)]
    [20, 11]
    """

    range: int
    every: int = 1
    order: Order = "row"

    def __post_init__(self) -> None:
        require_positive(range=self.range, every=self.every)

    def windows(self, tuples: Sequence[Tuple]) -> set[int]:
        """The times of every n-th tuple (Eq. 5.13, 5.16)."""
        numbers = ((t.row, t) for t in tuples) if self.order == "row" else enumerate(ordered(tuples), 1)
        return {t.time for number, t in numbers if number % self.every == 0}

    def extent(self, wid: int, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuples with w - range < time <= w (Eq. 5.14, 5.17)."""
        return [t for t in tuples if wid - self.range < t.time <= wid]

    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> set[int]:
        """The windows with t <= w < t + range (Eq. 5.15, 5.18)."""
        return {w for w in self.windows(tuples) if tuple_.time <= w < tuple_.time + self.range}

    def ends(self, times: Times, rows: Ints) -> Times:
        """`windows` of many tuples, in ascending order."""
        if self.order == "row":
            return np.unique(times[rows % self.every == 0])
        order, ranks = arranged(times, rows, None)
        return np.unique(times[order][(ranks + 1) % self.every == 0])

    def assign(self, times: Times, rows: Ints) -> tuple[Ints, Times]:
        """Each tuple once per window that it belongs to, as (positions, window ids)."""
        ends = self.ends(times, rows)
        last = np.searchsorted(ends, times + self.range) - 1
        positions, nth = expand_ids(np.searchsorted(ends, times), last)
        return positions, ends[nth]

    def bounds(self, wid: int, tuples: Sequence[Tuple] = ()) -> tuple[int, int]:
        """The exclusive start w - range, and the inclusive end w."""
        return wid - self.range, wid

    def closed_by(self, wid: int, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether w < punctuation: the end is inclusive."""
        return wid < punctuation

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("slide by tuple", self.range, self.every, self.order)

    @property
    def text(self) -> str:
        """The range, and which tuples it ends at.

        >>> SlideByTuple(10_000_000, 5, "rank").text
        'RANGE 10 seconds, SLIDE 5 rows by time stamp'
        """
        return f"RANGE {duration(self.range)}, SLIDE {rows(self.every)} {_COUNTED[self.order]}"

    @property
    def noun(self) -> str:  # noqa: D102
        return "a window that slides by tuples"

    @property
    def depends_on_data(self) -> bool:
        """Always: windows end at tuples."""
        return True

    @property
    def depends_on_arrival(self) -> bool:
        """Always: it decides which tuple is the n-th."""
        return True

    @property
    def end_inclusive(self) -> bool:
        """Always."""
        return True

    @property
    def length(self) -> int | None:
        """Nothing is promised of its start, which lies before all of its tuples."""
        return None

    @property
    def reason_not_to_emit(self) -> str | None:  # noqa: D102
        return COMPLETED_BY_A_TUPLE

    @property
    def paned(self) -> None:
        """Its windows begin at any time."""
        return None

    def by_arrival(self) -> Self:
        """The same: SATTR says how tuples are counted, and by arrival unless it does."""
        return self
