"""Landmark windows: everything so far, anew at every slide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from millstream.structure import Structure
from millstream.windows.panes import Paned
from millstream.windows.tuples import Ids, Ints, Times, Tuple, require_positive
from millstream.windows.words import duration, moved_to

FOREVER = 2**62
"""Further away than any window or pane that a time stamp can be in."""


@dataclass(frozen=True)
class Landmark(Paned):
    """Window w is (-oo, end) with end = origin + (w + 1) * slide: RANGE ALL [Li 2008, Eq. 5.7 to 5.9].

    Every later window has the tuples of the earlier ones, without end. `windows` and `wids` are those to whose last
    slide a tuple came: the others hold what the one before them did, so that they say nothing new, and between two
    tuples there may be thousands of years of them. `wids_between` and the panes know all.

    >>> minute = Landmark(slide=60)
    >>> minute.bounds(1)
    (None, 120)
    >>> tuples = [Tuple(5), Tuple(130)]
    >>> sorted(minute.windows(tuples)), list(minute.wids(tuples[1], tuples))
    ([0, 2], [2])
    >>> minute.wids_between(60, 240)  # the windows with 60 < end <= 240
    range(1, 4)
    """

    slide: int
    origin: int = 0

    def __post_init__(self) -> None:
        require_positive(slide=self.slide)

    def windows(self, tuples: Sequence[Tuple]) -> set[int]:
        """The windows to whose last slide a tuple came."""
        return {self._first(t.time) for t in tuples}

    def extent(self, wid: int, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuples with time < end (Eq. 5.8)."""
        end = self.bounds(wid)[1]
        return [t for t in tuples if t.time < end]

    def wids_at(self, time: int) -> Ids:
        """The first window of a time."""
        return Ids(self._first(time), self._first(time) + 1)

    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> Sequence[int]:
        """The w >= floor((t - origin) / slide) (Eq. 5.9), of those that there are."""
        return sorted(w for w in self.windows((tuple_, *tuples)) if w >= self._first(tuple_.time))

    def first_wids(self, times: Times) -> Ints:
        """The first window of each time: it is in that one and in all later ones."""
        return (times - self.origin) // self.slide

    def spans(self, times: Times) -> tuple[Ints, Ints]:
        """The window that each time is in first, as if it were the last tuple."""
        first = self.first_wids(times)
        return first, first

    def bounds(self, wid: int, tuples: Sequence[Tuple] = ()) -> tuple[None, int]:
        """No start, and the end."""
        return None, self.origin + (wid + 1) * self.slide

    def first_open(self, watermark: int) -> int:  # noqa: D102
        return self._first(watermark)

    @property
    def endless(self) -> bool:
        """Always."""
        return True

    @property
    def pane(self) -> int:
        """The slide."""
        return self.slide

    def panes(self, wid: int) -> Ids:
        """All up to the one that the window is named after."""
        return Ids(-FOREVER, wid + 1)

    def last_wid_of_pane(self, pane: int) -> int:
        """There is none."""
        return FOREVER

    def from_origin(self, origin: int) -> Self:  # noqa: D102
        return replace(self, origin=origin)

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("landmark", self.slide, self.origin)

    @property
    def text(self) -> str:
        """As it is written.

        >>> Landmark(60_000_000).text
        'RANGE ALL, SLIDE 1 minute'
        """
        return f"RANGE ALL, SLIDE {duration(self.slide)}{moved_to(self.origin)}"

    @property
    def noun(self) -> str:  # noqa: D102
        return "a landmark window"

    @property
    def length(self) -> int | None:
        """There is no start."""
        return None

    def _first(self, time: int) -> int:
        return (time - self.origin) // self.slide
