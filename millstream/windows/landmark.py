"""Landmark windows: everything so far, anew at every slide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.windows.contract import Window
from millstream.windows.tuples import Ids, Ints, Times, Tuple, require_positive


@dataclass(frozen=True)
class Landmark(Window[int]):
    """Window w is (-oo, end) with end = origin + (w + 1) * slide: RANGE ALL, thesis Eq. 5.7 to 5.9.

    Every later window has the tuples of the earlier ones, without end; `windows` and `wids` stop at the window of the
    last tuple, for after it nothing is new. `wids_between` knows no such stop.

    >>> minute = Landmark(slide=60)
    >>> minute.bounds(1)
    (None, 120)
    >>> tuples = [Tuple(5), Tuple(130)]
    >>> sorted(minute.windows(tuples)), list(minute.wids(tuples[1], tuples))
    ([0, 1, 2], [2])
    >>> minute.wids_between(60, 240)  # the windows with 60 < end <= 240
    range(1, 4)
    """

    slide: int
    origin: int = 0

    def __post_init__(self) -> None:
        require_positive(slide=self.slide)

    def windows(self, tuples: Sequence[Tuple]) -> set[int]:
        """From the window of the first tuple to that of the last."""
        return set(self.wids(min(tuples, key=lambda t: t.time), tuples)) if tuples else set()

    def extent(self, wid: int, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuples with time < end (Eq. 5.8)."""
        end = self.bounds(wid)[1]
        return [t for t in tuples if t.time < end]

    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> Ids:
        """The w >= floor((t - origin) / slide) (Eq. 5.9), up to the window of the last tuple."""
        last = max(t.time for t in (tuple_, *tuples))
        return Ids(self._first(tuple_.time), self._first(last) + 1)

    def first_wids(self, times: Times) -> Ints:
        """The first window of each time: it is in that one and in all later ones."""
        return (times - self.origin) // self.slide

    def bounds(self, wid: int, tuples: Sequence[Tuple] = ()) -> tuple[None, int]:
        """No start, and the end."""
        return None, self.origin + (wid + 1) * self.slide

    def closed_by(self, wid: int, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether end <= punctuation."""
        return self.bounds(wid)[1] <= punctuation

    def wids_between(self, old: int, new: int) -> Ids:
        """The windows that close as the low-watermark moves: old < end <= new."""
        return Ids(self._first(old), self._first(new))

    def _first(self, time: int) -> int:
        return (time - self.origin) // self.slide
