"""Frequent emission: answers of a window while it fills (EPIC, section 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
