"""How silent streams are given time stamps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream.intervals import interval, spoken


@dataclass(frozen=True)
class Heartbeats:
    """On demand, at a pace, or never. The others are there to be compared with the first."""

    every: timedelta | None = None
    never: bool = False

    def __str__(self) -> str:
        return "none" if self.never else "on demand" if self.every is None else spoken(self.every)


def heartbeats(text: str) -> Heartbeats:
    """Read it.

    >>> [str(heartbeats(text)) for text in ("on demand", "NONE", "5 seconds")]
    ['on demand', 'none', '5 seconds']
    """
    match text.strip().lower().replace("_", " "):
        case "on demand":
            return Heartbeats()
        case "none":
            return Heartbeats(never=True)
    try:
        every = interval(text)
    except ValueError:
        every = timedelta(0)
    if every <= timedelta(0):
        raise ValueError("'on demand', 'none', or a length of time, as 5 seconds")
    return Heartbeats(every)
