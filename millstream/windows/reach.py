"""The bounds on the times of tuples that are joined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from millstream.structure import Structure
from millstream.windows.tuples import Times, require_positive
from millstream.windows.words import duration, moved_to

LEAST = int(np.iinfo(np.int64).min)
MOST = int(np.iinfo(np.int64).max)
"""The ends of time: a bound that is one of these is no bound."""


class JoinPromises(NamedTuple):
    """Times before which no answer that is still to come is stamped; None where nothing can be said.

    `joint` is about the later one of the two time stamps of an answer [Li 2008, section 7.2].
    """

    left: int | None
    right: int | None
    joint: int | None


class Reach(ABC):
    """Says which time stamps of the other stream a tuple joins. Port 0 is the left stream, port 1 the right one."""

    @property
    @abstractmethod
    def width(self) -> int | None:
        """How far the partners of one tuple are apart at most; None if that has no bound."""

    @abstractmethod
    def partners(self, port: int, times: Times) -> tuple[Times, Times]:
        """The first and the last time stamp that each tuple of a port joins, both inclusive.

        Both do not descend as the times ascend. `LEAST` and `MOST` stand for no bound.
        """

    @abstractmethod
    def oldest(self, port: int, mark: int) -> int | None:
        """The first time stamp of a port that tuples of the other one from `mark` on can join; None if any can be.

        The last partners of tuples are before `mark` exactly for those that are before this.
        """

    @abstractmethod
    def text(self, left: str, right: str) -> str:
        """How close in time the tuples must be, in the words of EXPLAIN, for two columns of times."""

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """The kind and its bounds: joins with one structure keep the same tuples."""

    def promises(self, left: int | None, right: int | None) -> JoinPromises:
        """What can be said of pairs that are still to come, given both low-watermarks; None is one not known yet.

        One tuple of such a pair is still to come itself, so that it is not before the low-watermark of its stream.

        >>> Band(-5, 10).promises(100, 103)
        JoinPromises(left=93, right=95, joint=100)
        >>> Band(None, 10).promises(100, 103)
        JoinPromises(left=93, right=None, joint=100)
        >>> Band(-5, 10).promises(100, None)
        JoinPromises(left=None, right=None, joint=None)
        """
        if left is None or right is None:
            return JoinPromises(None, None, None)
        lefts, rights = self.oldest(0, right), self.oldest(1, left)
        return JoinPromises(
            None if lefts is None else min(left, lefts),
            None if rights is None else min(right, rights),
            min(left, right),
        )


@dataclass(frozen=True)
class Band(Reach):
    """Left l and right r join if r - l is in [low, high]; None is unbounded (landmark).

    `FROM a [RANGE ra], b [RANGE rb]` is Band(-rb, ra): the partners of l are [l - rb, l + ra]. An empty band
    joins nothing.

    >>> [bound.tolist() for bound in Band(-5, 10).partners(0, np.array([100]))]
    [[95], [110]]
    >>> [bound.tolist() for bound in Band(-5, 10).partners(1, np.array([100]))]
    [[90], [105]]
    """

    low: int | None
    high: int | None

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("band", self.low, self.high)

    @property
    def width(self) -> int | None:
        """The length of the band."""
        return None if self.low is None or self.high is None else max(self.high - self.low, 0)

    def partners(self, port: int, times: Times) -> tuple[Times, Times]:
        """[l + low, l + high] for the left port, [r - high, r - low] for the right one."""
        low, high = (self.low, self.high) if port == 0 else (_negative(self.high), _negative(self.low))
        first = np.full(len(times), LEAST) if low is None else _shifted(times, low)
        last = np.full(len(times), MOST) if high is None else _shifted(times, high)
        return first, last

    def oldest(self, port: int, mark: int) -> int | None:
        """Mark - high for the left port, mark + low for the right one.

        >>> Band(-5, 10).oldest(0, 100), Band(-5, 10).oldest(1, 100)
        (90, 95)
        """
        shift = _negative(self.high) if port == 0 else self.low
        return None if shift is None else _bounded(mark + shift)

    def text(self, left: str, right: str) -> str:
        """From where to where the right time stamp may be.

        >>> Band(-2_000_000, 3_000_000).text("a.ts", "b.ts"), Band(None, 0).text("a.ts", "b.ts")
        ('b.ts from a.ts - 2 seconds to a.ts + 3 seconds', 'b.ts up to a.ts')
        """
        low, high = (None if b is None else f"{left}{_signed(b)}" for b in (self.low, self.high))
        if low is None and high is None:
            return f"any {left} and {right}"
        if low is None:
            return f"{right} up to {high}"
        return f"{right} from {low}" + (f" to {high}" if high is not None else " on")


@dataclass(frozen=True)
class SameTumble(Reach):
    """Tuples join if one window [origin + k * length, origin + (k + 1) * length) has both.

    >>> [bound.tolist() for bound in SameTumble(10, origin=3).partners(0, np.array([2, 3, 12, 13]))]
    [[-7, 3, 3, 13], [2, 12, 12, 22]]
    """

    length: int
    origin: int = 0

    def __post_init__(self) -> None:
        require_positive(length=self.length)

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("same tumble", self.length, self.origin)

    @property
    def width(self) -> int:
        """The length of the windows."""
        return self.length

    def partners(self, port: int, times: Times) -> tuple[Times, Times]:
        """The first and the last time of the window."""
        length = min(self.length, MOST)
        phase = (times % length - self.origin % length) % length
        first = np.maximum(times, LEAST + phase) - phase
        rest = length - 1 - phase
        return first, np.minimum(times, MOST - rest) + rest

    def oldest(self, port: int, mark: int) -> int | None:
        """The start of the window of the mark.

        >>> SameTumble(10, origin=3).oldest(0, 22), SameTumble(10, origin=3).oldest(0, 23)
        (13, 23)
        """
        return _bounded(mark - (mark - self.origin) % self.length)

    def text(self, left: str, right: str) -> str:
        """The window that has both.

        >>> SameTumble(60_000_000).text("a.ts", "b.ts")
        'a.ts and b.ts in the same RANGE TUMBLING 1 minute'
        """
        return f"{left} and {right} in the same RANGE TUMBLING {duration(self.length)}{moved_to(self.origin)}"


def _signed(micros: int) -> str:
    return "" if not micros else f" {'-' if micros < 0 else '+'} {duration(abs(micros))}"


def _shifted(times: Times, by: int) -> Times:
    """Later by so much, but not past the ends of time."""
    if by != _bounded(by):  # further than time stamps can tell: no bound
        return np.full(len(times), _bounded(by))
    return np.minimum(times, MOST - by) + by if by >= 0 else np.maximum(times, LEAST - by) + by


def _bounded(time: int) -> int:
    return max(LEAST, min(MOST, time))


def _negative(number: int | None) -> int | None:
    return None if number is None else -number
