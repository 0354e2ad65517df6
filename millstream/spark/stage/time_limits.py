"""Which time stamps may move a stream: within the reach of windows, and not too far ahead of the clock.

Both readers judge where tuples are packed for a stage. As a rule that takes the least and the greatest time stamp,
which are known there, and nothing else. Queries without a stage hold nothing back, so that a time stamp moves nothing;
there Spark compares each, and only in runs that go on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from millstream.catalog.ahead import EARLIEST, LATEST, USUAL, Ahead
from millstream.catalog.definitions import Stream, TimeStamp
from millstream.catalog.far_times import moment_text
from millstream.connectors.files.paths import is_local, is_pattern
from millstream.errors import RunError
from millstream.spark.host import Host

MICROSECOND = timedelta(microseconds=1)


class Judged(NamedTuple):
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

    def judge(self, times: pa.ChunkedArray | pa.Array) -> Judged:
        """Judge time stamps in microseconds; NULL is no time stamp, and good.

        >>> TimeLimits().judge(pa.array([5, None, 2**62, 7]))[1:]
        (1, 5, 7)
        >>> TimeLimits(ahead=0, waits=True).judge(pa.array([5, 2**60]))
        Judged(good=None, rejected=0, oldest=5, newest=5)
        """
        ends = pc.min_max(times).as_py()
        oldest, newest = ends["min"], ends["max"]
        until = self.until()
        if oldest is None or (oldest >= EARLIEST and newest <= until):
            return Judged(None, 0, oldest, newest)
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
        return Judged(good if rejected else None, rejected, pc.min(kept).as_py(), newest)


def judged(limits: TimeLimits | None, times: pa.ChunkedArray | pa.Array) -> Judged:
    """Time stamps judged by what holds, if anything does."""
    if limits is not None:
        return limits.judge(times)
    ends = pc.min_max(times).as_py()
    return Judged(None, 0, ends["min"], ends["max"])


def bound_of(stream: Stream, host: Host) -> Ahead | None:
    """How far a stream may run ahead in this run, None if there is no bound.

    What is declared holds in every run. Otherwise there is a bound only where a stream is read live: in a run that goes
    on, of what is pushed, or of a folder that is followed.
    """
    if stream.time_stamp is not TimeStamp.EXTERNAL or stream.source is None:
        return None
    if stream.ahead is not None:
        return stream.ahead if stream.ahead.bound is not None else None
    if host.once or stream.source.kind == "rate":
        return None
    path = host.path(stream.source.rest)
    recorded = stream.source.kind != "tcp" and is_local(path) and Path(path.removeprefix("file:")).is_file()
    return None if recorded and not is_pattern(path) else USUAL


def limits_of(stream: Stream, host: Host) -> TimeLimits | None:
    """What a stage checks of the tuples of a stream, None if we stamp them ourselves."""
    if stream.time_stamp is not TimeStamp.EXTERNAL:
        return None
    bound = bound_of(stream, host)
    if bound is None or bound.bound is None:
        return TimeLimits()
    return TimeLimits(bound.bound // MICROSECOND, bound.waits)
