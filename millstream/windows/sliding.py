"""Sliding time windows of any range and slide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Self

from millstream.structure import Structure
from millstream.windows.panes import Paned
from millstream.windows.tuples import Ids, Ints, Times, Tuple, require_positive
from millstream.windows.words import duration, moved_to


@dataclass(frozen=True)
class Sliding(Paned):
    """Window w is [start, end) with start = origin + w * slide and end = start + range, for every integer w.

    Starts are aligned, as in HOP of Flink and Calcite. The range need not be a multiple of the slide; when the slide
    is larger than the range, the tuples in between belong to no window.

    [Li 2008, Eq. 5.1 to 5.3] aligns the ends: window v is [o + (v + 1) * slide - range, o + (v + 1) * slide), with
    o = min(T). Where the range is m slides these are the same windows under other numbers, w = v + 1 - m; for any
    range they are `Sliding(range, slide, o - range)`, with w = v + 1. (The brackets of Eq. 5.3 must be floors, as its
    own example shows.)

    >>> hop = Sliding(range=10, slide=4)
    >>> hop.bounds(-1), hop.bounds(2)
    ((-4, 6), (8, 18))
    >>> list(hop.wids(Tuple(9)))
    [0, 1, 2]
    >>> [t.time for t in hop.extent(0, [Tuple(-1), Tuple(0), Tuple(9), Tuple(10)])]
    [0, 9]
    >>> hop.pane, hop.panes(1), hop.first_wid_of_pane(6), hop.last_wid_of_pane(6)
    (2, range(2, 7), 1, 3)
    >>> hop.wids_between(10, 18)  # the windows with 10 < end <= 18
    range(1, 3)
    >>> hop.last_needed_before(9), hop.last_needed_before(10)
    (0, 2)
    """

    range: int
    slide: int
    origin: int = 0

    def __post_init__(self) -> None:
        require_positive(range=self.range, slide=self.slide)

    def wids_at(self, time: int) -> Ids:
        """The w with floor((t - range - origin) / slide) < w <= floor((t - origin) / slide) (Eq. 5.3)."""
        t = time - self.origin
        return Ids((t - self.range) // self.slide + 1, t // self.slide + 1)

    def spans(self, times: Times) -> tuple[Ints, Ints]:
        """`wids` of many times: the first and the last id of each; last < first where there is none.

        >>> import numpy as np
        >>> [ids.tolist() for ids in Sliding(range=10, slide=4).spans(np.array([9, 10]))]
        [[0, 1], [2, 2]]
        """
        t = times - self.origin
        return (t - self.range) // self.slide + 1, t // self.slide

    def bounds(self, wid: int, tuples: Sequence[Tuple] = ()) -> tuple[int, int]:  # noqa: D102
        start = self.origin + wid * self.slide
        return start, start + self.range

    def first_open(self, watermark: int) -> int:  # noqa: D102
        return (watermark - self.range - self.origin) // self.slide + 1

    @property
    def pane(self) -> int:
        """The greatest common divisor of range and slide."""
        return gcd(self.range, self.slide)

    def panes(self, wid: int) -> Ids:  # noqa: D102
        first = wid * (self.slide // self.pane)
        return Ids(first, first + self.range // self.pane)

    @property
    def pane_family(self) -> Structure | None:
        """Where panes begin: with one origin there is a width that no window of them cuts."""
        return ("panes", self.origin)

    @property
    def apart(self) -> bool:
        """Whether the slide is a multiple of the range."""
        return self.pane == self.range

    def from_origin(self, origin: int) -> Self:  # noqa: D102
        return replace(self, origin=origin)

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("sliding", self.range, self.slide, self.origin)

    @property
    def text(self) -> str:
        """As it is written.

        >>> Sliding(10_000_000, 2_000_000).text
        'RANGE 10 seconds, SLIDE 2 seconds'
        """
        return f"RANGE {duration(self.range)}, SLIDE {duration(self.slide)}{moved_to(self.origin)}"

    @property
    def noun(self) -> str:  # noqa: D102
        return "a sliding window"

    @property
    def length(self) -> int | None:
        """The range."""
        return self.range
