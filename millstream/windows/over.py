"""Frames of OVER: one window per tuple, or per slide, that ends at the tuple."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from millstream.errors import SettingError
from millstream.windows.contract import Window
from millstream.windows.emit import NOTHING_TO_EMIT_EARLY
from millstream.windows.tuples import Ints, Keys, Order, Times, Tuple, arranged, codes, ordered, require_positive
from millstream.windows.words import duration, preceding


class Frames(NamedTuple):
    """Frames of many tuples; frame i is order[first[i] : last[i] + 1] and its current tuple is order[current[i]]."""

    order: Ints
    """Positions of the tuples, by key and then in the order within the key."""
    current: Ints
    first: Ints
    last: Ints


class Slots(NamedTuple):
    """The times [origin + k * length, origin + (k + 1) * length)."""

    length: int
    origin: int

    def number(self, times: Times) -> Ints:
        """The k of each time."""
        return (times - self.origin) // self.length

    def start(self, time: int) -> int:
        """The first time of the slot that has a time.

        >>> Slots(10, 3).start(12), Slots(10, 3).start(13)
        (3, 13)
        """
        return time - (time - self.origin) % self.length


class Over(Window[int]):
    """What the frames have in common: the id of a window is the number of its current tuple.

    Only tuples of the current tuple's key are in its frame; without PARTITION BY all have one key.
    """

    active: bool = False
    """Whether it also answers when a tuple leaves the frame (ACTIVE EXPIRATION)."""

    stamp: str | None = None
    """The column that then has the moment of that."""

    @abstractmethod
    def stamped_by(self, column: str | None) -> Self:
        """The frame with the column that has the moment at which a tuple left; for active ones."""

    @property
    @abstractmethod
    def reach(self) -> int | None:
        """How far a frame reaches back, in microseconds if it goes `by_time` and else in tuples; None: without end."""

    @property
    @abstractmethod
    def by_time(self) -> bool:
        """Whether frames are cut by time, and not by the number of tuples."""

    @property
    @abstractmethod
    def ranked_by(self) -> Order:
        """What ranks the tuples."""

    @property
    @abstractmethod
    def every(self) -> int:
        """Every how many tuples of a partition one answers."""

    @property
    @abstractmethod
    def slots(self) -> Slots | None:
        """The slots of time of which only the last tuple answers; None if time does not matter to that."""

    @abstractmethod
    def frame(self, current: Tuple, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuples in the frame of the current one."""

    @abstractmethod
    def frames(self, times: Times, rows: Ints, keys: Keys | None = None) -> Frames:
        """`extent` of all windows of many tuples."""

    @abstractmethod
    def answers(self, current: Tuple, tuples: Sequence[Tuple]) -> bool:
        """Whether the slide keeps the answer of the tuple."""

    def windows(self, tuples: Sequence[Tuple]) -> set[int]:  # noqa: D102
        return {t.row for t in tuples if self.answers(t, tuples)}

    def extent(self, wid: int, tuples: Sequence[Tuple]) -> list[Tuple]:  # noqa: D102
        current = _current(wid, tuples)
        return [] if current is None else self.frame(current, tuples)

    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> set[int]:  # noqa: D102
        return {w for w in self.windows(tuples) if tuple_ in self.extent(w, tuples)}

    def bounds(self, wid: int, tuples: Sequence[Tuple] = ()) -> tuple[int | None, int | None]:
        """The first and the last time in the frame, both inclusive; None where the tuple has not come."""
        times = [t.time for t in self.extent(wid, tuples)]
        return min(times, default=None), max(times, default=None)

    @property
    def depends_on_data(self) -> bool:
        """Always: frames end at tuples."""
        return True

    @property
    def end_inclusive(self) -> bool:
        """Always."""
        return True

    @property
    def length(self) -> int | None:
        """Answers have the time stamp of their tuple, and no window_start."""
        return None

    @property
    def reason_not_to_emit(self) -> str | None:  # noqa: D102
        return NOTHING_TO_EMIT_EARLY

    @property
    def paned(self) -> None:
        """Frames begin at any time."""
        return None


@dataclass(frozen=True)
class OverRange(Over):
    """The frame of tuple t is [t - range, t], peers included: standard SQL's RANGE i PRECEDING; None is UNBOUNDED.

    With a slide only the last tuple of each slot [origin + k * slide, origin + (k + 1) * slide) of its key answers.
    This is the slide-by-tuple window of thesis Eq. 5.10 to 5.12, closed at both ends. An `active` one (ACTIVE
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
        _require_not_negative(self.range)
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
        current = _current(wid, tuples)
        if current is None:
            return False
        if self.slide is None:
            return current.time < punctuation
        return self.origin + (self._slot(current.time) + 1) * self.slide <= punctuation

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


@dataclass(frozen=True)
class OverRows(Over):
    """The frame of the tuple of rank r in its key is the ranks [r - preceding, r]: ROWS n PRECEDING; None is UNBOUNDED.

    Ranks follow the time stamps, ties the numbers of the tuples; with order "row", for latent streams, the arrival
    alone. With a slide of m only the m-th, 2m-th, ... tuples of the key answer.

    >>> tuples = [Tuple(0, 1), Tuple(20, 2), Tuple(10, 3)]
    >>> [t.row for t in OverRows(1).extent(2, tuples)]
    [3, 2]
    >>> OverRows(1, slide=2).windows(tuples)
    {3}
    """

    preceding: int | None
    slide: int = 1
    order: Order = "rank"

    def __post_init__(self) -> None:
        _require_not_negative(self.preceding)
        require_positive(slide=self.slide)

    def frame(self, current: Tuple, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuple and those before it."""
        partition = self._partition(current, tuples)
        rank = partition.index(current)
        first = 0 if self.preceding is None else max(rank - self.preceding, 0)
        return partition[first : rank + 1]

    def answers(self, current: Tuple, tuples: Sequence[Tuple]) -> bool:
        """Whether the tuple is a multiple of the slide, counted from 1."""
        return (self._partition(current, tuples).index(current) + 1) % self.slide == 0

    def frames(self, times: Times, rows: Ints, keys: Keys | None = None) -> Frames:  # noqa: D102
        order, ranks = arranged(times, rows, keys, self.order)
        current = np.flatnonzero((ranks + 1) % self.slide == 0)
        back = ranks if self.preceding is None else np.minimum(ranks, self.preceding)
        return Frames(order, current, current - back[current], current)

    def closed_by(self, wid: int, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether t < punctuation: a tuple of the same time may still rank before it. In arrival order: at once."""
        current = _current(wid, tuples)
        return current is not None and (self.order == "row" or current.time < punctuation)

    @property
    def text(self) -> str:
        """As it is written.

        >>> OverRows(9, slide=10).text, OverRows(None).text
        ('ROWS 9 PRECEDING SLIDE 10', 'ROWS UNBOUNDED PRECEDING')
        """
        return f"ROWS {preceding(self.preceding, str)}" + (f" SLIDE {self.slide}" if self.slide > 1 else "")

    @property
    def noun(self) -> str:  # noqa: D102
        return "a frame of rows"

    @property
    def depends_on_arrival(self) -> bool:
        """Always: tuples of one time have different ranks."""
        return True

    def by_arrival(self) -> Self:
        """With the order "row"."""
        return replace(self, order="row")

    def stamped_by(self, column: str | None) -> Self:
        """The same: no tuple leaves as time goes by."""
        return self

    @property
    def reach(self) -> int | None:
        """The number of tuples before the current one."""
        return self.preceding

    @property
    def by_time(self) -> bool:
        """Never."""
        return False

    @property
    def ranked_by(self) -> Order:
        """The order."""
        return self.order

    @property
    def every(self) -> int:
        """The slide."""
        return self.slide

    @property
    def slots(self) -> None:
        """The slide counts tuples."""
        return None

    def _partition(self, current: Tuple, tuples: Sequence[Tuple]) -> list[Tuple]:
        return ordered((t for t in tuples if t.key == current.key), self.order)


def _current(wid: int, tuples: Sequence[Tuple]) -> Tuple | None:
    return next((t for t in tuples if t.row == wid), None)


def _require_not_negative(preceding: int | None) -> None:
    if preceding is not None and preceding < 0:
        raise SettingError(f"a frame reaches back by 0 or more, not {preceding}")
