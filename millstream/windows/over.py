"""Frames of OVER: one window per tuple, or per slide, that ends at the tuple."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Self

from millstream.errors import SettingError
from millstream.windows.contract import Window
from millstream.windows.emit import NOTHING_TO_EMIT_EARLY
from millstream.windows.tuples import Ints, Keys, Order, Times, Tuple


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
        current = current_tuple(wid, tuples)
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


def current_tuple(wid: int, tuples: Sequence[Tuple]) -> Tuple | None:
    """The tuple that a frame ends at; None where it has not come."""
    return next((t for t in tuples if t.row == wid), None)


def require_not_negative(reach: int | None) -> None:
    """Refuse frames that reach forward."""
    if reach is not None and reach < 0:
        raise SettingError(f"a frame reaches back by 0 or more, not {reach}")
