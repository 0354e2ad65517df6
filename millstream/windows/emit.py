"""Frequent emission: answers of a window while it fills [Badiozamy 2013, section 2.1]."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from millstream.structure import Structure
from millstream.windows.words import duration, rows

COMPLETED_BY_A_TUPLE = "a window that is counted in tuples answers with the tuple that completes it"
TABLES_ARE_COMPLETE = "a table is complete: its windows never fill up slowly"
NOTHING_TO_EMIT_EARLY = "OVER answers as soon as a tuple's frame is complete: there is nothing to emit early"
"""Why there is no EMIT."""


class Pace(Enum):
    """What sets the pace of partial answers."""

    EVENT = "event time"
    WALL = "wall time"
    ROWS = "rows"
    CHANGE = "change"


@dataclass(frozen=True)
class Emit:
    """EMIT EVERY so many microseconds of event or wall time, or so many rows; or ON CHANGE, which needs no number."""

    pace: Pace
    every: int = 0

    @property
    def structure(self) -> Structure:
        """What sets the pace, and how often."""
        return (self.pace.name.lower(), self.every)

    @property
    def text(self) -> str:
        """As it could be written.

        >>> Emit(Pace.WALL, 5_000_000).text, Emit(Pace.CHANGE).text
        ('EMIT EVERY 5 seconds WALL', 'EMIT ON CHANGE')
        """
        match self.pace:
            case Pace.CHANGE:
                return "EMIT ON CHANGE"
            case Pace.ROWS:
                return f"EMIT EVERY {rows(self.every)}"
        return f"EMIT EVERY {duration(self.every)}" + (" WALL" if self.pace is Pace.WALL else "")
