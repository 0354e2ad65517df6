"""Windows in the words of EXPLAIN."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from millstream.catalog.intervals import spoken
from millstream.windows.contract import Window
from millstream.windows.cumulate import Cumulate
from millstream.windows.emit import Emit, Pace
from millstream.windows.landmark import Landmark
from millstream.windows.over import OverRange, OverRows
from millstream.windows.reach import Band, SameTumble
from millstream.windows.rows import Rows
from millstream.windows.session import Session
from millstream.windows.slide_by_tuple import SlideByTuple
from millstream.windows.sliding import WHOLE, Sliding

_COUNTED = {"row": "by arrival", "rank": "by time stamp"}


def shape(window: Window[Any]) -> str:
    """The window as it could be written.

    >>> shape(Sliding(10_000_000, 2_000_000)), shape(Rows(10, 5)), shape(OverRows(None))
    ('RANGE 10 seconds, SLIDE 2 seconds', 'RANGE 10 rows, SLIDE 5 rows', 'ROWS UNBOUNDED PRECEDING')
    """
    if window == WHOLE:
        return "all rows"
    match window:
        case Sliding(range=range_, slide=slide, origin=origin):
            return f"RANGE {length(range_)}, SLIDE {length(slide)}{_from(origin)}"
        case Cumulate(step=step, size=size, origin=origin):
            return f"CUMULATE step {length(step)}, size {length(size)}{_from(origin)}"
        case Landmark(slide=slide, origin=origin):
            return f"RANGE ALL, SLIDE {length(slide)}{_from(origin)}"
        case Rows(range=range_, slide=slide):
            return f"RANGE {_rows(range_)}, SLIDE {_rows(slide)}"
        case SlideByTuple(range=range_, every=every, order=order):
            return f"RANGE {length(range_)}, SLIDE {_rows(every)} {_COUNTED[order]}"
        case Session(gap=gap):
            return f"SESSION gap {length(gap)}"
        case OverRange(range=range_, slide=slide, active=active):
            words = f"RANGE {_preceding(range_, length)}" + (f" SLIDE {length(slide)}" if slide else "")
            return f"{words} ACTIVE EXPIRATION" if active else words
        case OverRows(preceding=preceding, slide=slide):
            return f"ROWS {_preceding(preceding, str)}" + (f" SLIDE {slide}" if slide > 1 else "")
    raise NotImplementedError(type(window).__name__)


def within(reach: Band | SameTumble, times: tuple[str, str]) -> str:
    """How close in time the tuples of a join must be.

    >>> within(Band(-2_000_000, 3_000_000), ("a.ts", "b.ts"))
    'b.ts from a.ts - 2 seconds to a.ts + 3 seconds'
    >>> within(Band(None, 0), ("a.ts", "b.ts")), within(SameTumble(60_000_000), ("a.ts", "b.ts"))
    ('b.ts up to a.ts', 'a.ts and b.ts in the same RANGE TUMBLING 1 minute')
    """
    left, right = times
    if isinstance(reach, SameTumble):
        return f"{left} and {right} in the same RANGE TUMBLING {length(reach.length)}{_from(reach.origin)}"
    low, high = (None if b is None else f"{left}{_signed(b)}" for b in (reach.low, reach.high))
    if low is None and high is None:
        return f"any {left} and {right}"
    if low is None:
        return f"{right} up to {high}"
    return f"{right} from {low}" + (f" to {high}" if high is not None else " on")


def _signed(micros: int) -> str:
    return "" if not micros else f" {'-' if micros < 0 else '+'} {length(abs(micros))}"


def emission(emit: Emit) -> str:
    """EMIT as it could be written.

    >>> emission(Emit(Pace.WALL, 5_000_000)), emission(Emit(Pace.CHANGE))
    ('EMIT EVERY 5 seconds WALL', 'EMIT ON CHANGE')
    """
    match emit.pace:
        case Pace.CHANGE:
            return "EMIT ON CHANGE"
        case Pace.ROWS:
            return f"EMIT EVERY {_rows(emit.every)}"
    return f"EMIT EVERY {length(emit.every)}" + (" WALL" if emit.pace is Pace.WALL else "")


def length(micros: int) -> str:
    """A length of time in words."""
    return spoken(timedelta(microseconds=micros))


def _from(origin: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=origin)
    return f", ORIGIN '{moment.replace(tzinfo=None).isoformat()}'" if origin else ""


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _preceding(reach: int | None, say: Callable[[int], str]) -> str:
    return "UNBOUNDED PRECEDING" if reach is None else f"{say(reach)} PRECEDING"
