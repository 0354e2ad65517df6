"""Moments to positions: where in a log a reader begins, and where one that has an end stops."""

from __future__ import annotations

import time
from typing import NamedTuple

from millstream.catalog.far_times import moment_text
from millstream.catalog.moment import At, Moment
from millstream.errors import RunError
from millstream.history.index import Index


class Bound(NamedTuple):
    """A position, and the time stamp that rows behind it must have reached, or must not have reached.

    All tuples from the time stamp `whole` on are behind it: windows that begin earlier may lack some.
    """

    position: int
    time: int | None = None
    whole: int | None = None


def begin_at(index: Index, stream: str, moment: Moment, now: int | None = None) -> Bound:
    """Where a reader begins: every row that it is to have is at the position or behind it."""
    extent = index.extent
    match moment.at:
        case At.EARLIEST:
            return Bound(extent.begin, whole=_add_microsecond(extent.trimmed_newest))
        case At.NOW:
            return Bound(extent.end, whole=_add_microsecond(extent.so_far))
    since = moment.time(_now(now))
    assert since is not None  # noqa: S101  (a time stamp is all that is left)
    if extent.trimmed_newest is not None and since <= extent.trimmed_newest:
        raise RunError(
            f"the history of {stream} begins at {moment_text(extent.trimmed_newest + 1)}, and it is asked for "
            f"{moment_text(since)}: what was before has been trimmed\n"
            "help: ask for less, or for EARLIEST, which is all that is kept"
        )
    return Bound(index.first_since(since), since, since)


def end_at(index: Index, moment: Moment | None, now: int | None = None) -> Bound:
    """Where a reader stops: at the end of what has landed, and before a time stamp if one is named."""
    return Bound(index.extent.end, None if moment is None else moment.time(_now(now)))


def _add_microsecond(time_: int | None) -> int | None:
    return None if time_ is None else time_ + 1


def _now(now: int | None) -> int:
    return time.time_ns() // 1000 if now is None else now
