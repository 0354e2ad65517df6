"""Moments in a history: where a query begins, from where and until when a SELECT reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from millstream.catalog.far_times import moment_text
from millstream.intervals import spoken

MICROSECOND = timedelta(microseconds=1)


class At(Enum):
    """What a moment is said by."""

    EARLIEST = "EARLIEST"  # the first row that is kept
    NOW = "NOW"  # the end of what has landed
    TIME = "TIME"  # a time stamp
    AGO = "AGO"  # a time before now, as the clock tells it


@dataclass(frozen=True)
class Moment:
    """EARLIEST, NOW, a time stamp in microseconds, or NOW less a length of time in microseconds."""

    at: At
    micros: int = 0

    def time(self, now: int) -> int | None:
        """The time stamp that is meant, if one is, at a time of the clock in microseconds."""
        match self.at:
            case At.TIME:
                return self.micros
            case At.AGO:
                return now - self.micros
        return None

    def __str__(self) -> str:
        match self.at:
            case At.TIME:
                return f"'{moment_text(self.micros)}'"
            case At.AGO:
                return f"NOW - {spoken(self.micros * MICROSECOND)}"
        return str(self.at.value)
