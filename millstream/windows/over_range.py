"""Frames of OVER that are cut by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from millstream.structure import Structure
from millstream.windows.over import Frames, Over, Slots, current_tuple, require_not_negative
from millstream.windows.tuples import Ints, Keys, Order, Times, Tuple, arranged, codes, ordered, require_positive
from millstream.windows.words import duration, preceding


@dataclass(frozen=True)
class OverRange(Over):
    """The frame of tuple t is [t - range, t], peers included: standard SQL's RANGE i PRECEDING; None is UNBOUNDED.

    With a slide only the last tuple of each slot [origin + k * slide, origin + (k + 1) * slide) of its key answers.
    This is the slide-by-tuple window of [Li 2008, Eq. 5.10 to 5.12], closed at both ends. An `active` one (ACTIVE
    EXPIRATION) also answers when a tuple leaves: then the column `stamp`, if there is one, has the moment of that.

    >>> tuples = [Tuple(0, 1), Tuple(10, 2), Tuple(11, 3), Tuple(11, 4)]
    >>> [t.row for t in OverRange(10).extent(3, tuples)]
    [2, 3, 4]
    >>> sorted(OverRange(10, slide=10).windows(tuples))
    [1, 4]
    """

    range: int | None
    slide: int | None = None
    origin: int = 0
    active: bool = False
    stamp: str | None = None

    def __post_init__(self) -> None:
        require_not_negative(self.range)
        require_positive(slide=self.slide)

    def frame(self, current: Tuple, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuples of the key with t - range <= time <= t."""
        return [t for t in tuples if t.key == current.key and self._reaches(current.time - t.time)]

    def answers(self, current: Tuple, tuples: Sequence[Tuple]) -> bool:
        """Whether the tuple is the last of its slot."""
        if self.slide is None:
            return True
        peers = [t for t in tuples if t.key == current.key and self._slot(t.time) == self._slot(current.time)]
        return ordered(peers)[-1] == current

    def frames(self, times: Times, rows: Ints, keys: Keys | None = None) -> Frames:  # noqa: D102
        order, _ = arranged(times, rows, keys)
        time, key = times[order], codes(keys, len(times))[order]
        distinct = np.unique(time)
        width = len(distinct) + 1
        place = key * width + np.searchsorted(distinct, time)
        earliest = 0 if self.range is None else np.searchsorted(distinct, time - self.range)
        first = np.searchsorted(place, key * width + earliest)
        last = np.searchsorted(place, place, side="right") - 1
        current = np.arange(len(times), dtype=np.int64)
        if self.slide is not None:
            slot = (time - self.origin) // self.slide
            current = current[np.append((np.diff(slot) != 0) | (np.diff(key) != 0), True)[: len(times)]]
        return Frames(order, current, first[current], last[current])

    def closed_by(self, wid: int, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether t < punctuation, for peers count; with a slide, whether its slot ends by then."""
        current = current_tuple(wid, tuples)
        if current is None:
            return False
        if self.slide is None:
            return current.time < punctuation
        return self.origin + (self._slot(current.time) + 1) * self.slide <= punctuation

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("over range", self.range, self.slide, self.origin, self.active)

    @property
    def text(self) -> str:
        """As it is written.

        >>> OverRange(5_000_000, active=True).text
        'RANGE 5 seconds PRECEDING ACTIVE EXPIRATION'
        """
        slide = f" SLIDE {duration(self.slide)}" if self.slide else ""
        return f"RANGE {preceding(self.range, duration)}{slide}{' ACTIVE EXPIRATION' if self.active else ''}"

    @property
    def noun(self) -> str:  # noqa: D102
        return "a frame of time"

    @property
    def depends_on_arrival(self) -> bool:
        """With a slide: it decides which tuple is the last of its slot. Without one, peers have one frame."""
        return self.slide is not None

    def by_arrival(self) -> Self:
        """The same: it is the clock that stamps tuples then, and nothing is ranked."""
        return self

    def stamped_by(self, column: str | None) -> Self:  # noqa: D102
        return replace(self, stamp=column)

    @property
    def reach(self) -> int | None:
        """The range."""
        return self.range

    @property
    def by_time(self) -> bool:
        """Always."""
        return True

    @property
    def ranked_by(self) -> Order:
        """The time stamp."""
        return "rank"

    @property
    def every(self) -> int:
        """Each, but for those that slots leave out."""
        return 1

    @property
    def slots(self) -> Slots | None:
        """Those of the slide."""
        return None if self.slide is None else Slots(self.slide, self.origin)

    def _reaches(self, distance: int) -> bool:
        return distance >= 0 and (self.range is None or distance <= self.range)

    def _slot(self, time: int) -> int:
        return (time - self.origin) // (self.slide or 1)
