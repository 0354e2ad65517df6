"""The time stamps that a stage accepts: within the range of windows, and not too far ahead of the clock.

Both readers judge where tuples are packed for a stage. As a rule that takes the least and the greatest time stamp,
which are known there, and nothing else. Queries without a stage hold nothing back, so that a time stamp moves nothing;
there Spark compares each, and only in runs that go on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from millstream.catalog.ahead import EARLIEST, LATEST
from millstream.catalog.far_times import moment_text
from millstream.errors import RunError

MICROSECOND = timedelta(microseconds=1)


class TimeJudgement(NamedTuple):
    """Which time stamps are good, None if all are, how many are not, and the ends of those that move time."""

    good: pa.ChunkedArray | None
    rejected: int
    oldest: int | None
    newest: int | None


@dataclass(frozen=True)
class TimeLimits:
    """What holds for the tuples of a stream, or of a table, where a time that windows cannot reach is an error.

    `ahead` is in microseconds; None is no bound.
    """

    ahead: int | None = None
    waits: bool = False
    of_stream: bool = True

    def until(self) -> int:
        """The last time stamp that may move time now."""
        return LATEST if self.ahead is None else min(LATEST, time.time_ns() // 1000 + self.ahead)

    def judge(self, times: pa.ChunkedArray | pa.Array) -> TimeJudgement:
        """Judge time stamps in microseconds; NULL is no time stamp, and good.

        >>> TimeLimits().judge(pa.array([5, None, 2**62, 7]))[1:]
        (1, 5, 7)
        >>> TimeLimits(ahead=0, waits=True).judge(pa.array([5, 2**60]))
        TimeJudgement(good=None, rejected=0, oldest=5, newest=5)
        """
        ends = pc.min_max(times).as_py()
        oldest, newest = ends["min"], ends["max"]
        until = self.until()
        if oldest is None or (oldest >= EARLIEST and newest <= until):
            return TimeJudgement(None, 0, oldest, newest)
        within = pc.and_(pc.greater_equal(times, EARLIEST), pc.less_equal(times, LATEST if self.waits else until))
        good = pc.fill_null(within, True)
        rejected = len(good) - int(pc.sum(good).as_py())
        if rejected and not self.of_stream:
            far = pc.filter(times, pc.invert(good))[0].as_py()
            raise RunError(
                f"{moment_text(far)} is too far from 1970 for a window: at most some 73,000 years can be told"
            )
        kept = times.filter(good)
        newest = pc.max(kept.filter(pc.less_equal(kept, until))).as_py()
        return TimeJudgement(good if rejected else None, rejected, pc.min(kept).as_py(), newest)

    def not_ahead(self, times: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
        """Which tuples pass steps that hold nothing back, None if all do: a time that is only far away moves nothing.

        >>> TimeLimits(ahead=0).not_ahead(pa.array([5, 2**62, None])).to_pylist()
        [True, False, True]
        """
        if self.ahead is None or self.waits:
            return None
        until = time.time_ns() // 1000 + self.ahead
        newest = pc.max(times).as_py()
        return None if newest is None or newest <= until else pc.fill_null(pc.less_equal(times, until), True)


def judge_times(limits: TimeLimits | None, times: pa.ChunkedArray | pa.Array) -> TimeJudgement:
    """Judge time stamps by what holds, if anything does."""
    if limits is not None:
        return limits.judge(times)
    ends = pc.min_max(times).as_py()
    return TimeJudgement(None, 0, ends["min"], ends["max"])


def tighter(one: TimeLimits, other: TimeLimits) -> TimeLimits:
    """Which of two limits lets less move time.

    >>> tighter(TimeLimits(), TimeLimits(ahead=5)), tighter(TimeLimits(ahead=3), TimeLimits(ahead=5)).ahead
    (TimeLimits(ahead=5, waits=False, of_stream=True), 3)
    """
    return min(one, other, key=lambda limits: float("inf") if limits.ahead is None else limits.ahead)
