"""The times of the match: warm-up, two halves, the break between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.errors import SettingError

FIRST: Final = 10_629_342_490_369_879
"""The time of the first reading, in picoseconds."""
PICOS: Final = 1_000_000
"""Picoseconds in a microsecond."""
MICROS: Final = 1_000_000
"""Microseconds in a second."""
ORIGIN: Final = FIRST // PICOS
"""Where plans count their seconds from, in microseconds."""

FULL_MINUTES: Final = 60.0
LONGEST_MINUTES: Final = 600.0
# The real match in microseconds; 60 minutes stand for its 1,804 and 1,793 seconds.
_WARM_UP: Final = 10_753_295_594 - ORIGIN
_HALVES: Final = (1_804 * MICROS, 1_793 * MICROS)
_BREAK: Final = 13_086_639_146 - (10_753_295_594 + _HALVES[0])
_AFTER: Final = 14_893_948_418 - (13_086_639_146 + _HALVES[1])
# In a short match the players still have to get to the other side.
_SHORTEST_BREAK: Final = 16 * MICROS


@dataclass(frozen=True)
class Span:
    """A stretch of time [begins, ends) in microseconds, with the half that it belongs to."""

    half: int
    begins: int
    ends: int

    @property
    def seconds(self) -> tuple[float, float]:
        """The bounds as seconds of a plan."""
        return seconds(self.begins), seconds(self.ends)


@dataclass(frozen=True)
class Clock:
    """The halves, and the end of the readings, in microseconds."""

    halves: tuple[Span, Span]
    ends: int

    @property
    def length(self) -> float:
        """Seconds from the first reading to the last one."""
        return seconds(self.ends)


def clock(minutes: float) -> Clock:
    """The times of a match of so many minutes, all told as shares of the real one.

    >>> clock(60).halves[1]
    Span(half=2, begins=13086639146, ends=14879639146)
    >>> [round((h.ends - h.begins) / 1e6, 1) for h in clock(1).halves]
    [30.1, 29.9]
    """
    if not 0 < minutes <= LONGEST_MINUTES:
        raise SettingError(f"a match of {minutes:g} minutes cannot be played\nhelp: more than 0, at most 600 minutes")
    share = minutes / FULL_MINUTES

    def scaled(length: int, least: int = MICROS) -> int:
        return max(least, round(length * share))

    first = ORIGIN + scaled(_WARM_UP)
    first_ends = first + round(_HALVES[0] * share)
    second = first_ends + scaled(_BREAK, _SHORTEST_BREAK)
    second_ends = second + round(_HALVES[1] * share)
    return Clock((Span(1, first, first_ends), Span(2, second, second_ends)), second_ends + scaled(_AFTER))


def seconds(micros: int) -> float:
    """Seconds of a plan."""
    return (micros - ORIGIN) / MICROS


def micros(seconds_of_plan: float) -> int:
    """Microseconds since the epoch, of seconds of a plan."""
    return ORIGIN + round(seconds_of_plan * MICROS)


def play(halves: tuple[Span, ...], interruptions: tuple[Span, ...]) -> tuple[Span, ...]:
    """The stretches of play: the halves without their interruptions.

    >>> play((Span(1, 0, 100),), (Span(1, 20, 30), Span(1, 90, 100)))
    (Span(half=1, begins=0, ends=20), Span(half=1, begins=30, ends=90))
    """
    found = []
    for half in halves:
        at = half.begins
        for stop in sorted((s for s in interruptions if s.half == half.half), key=lambda s: s.begins):
            if stop.begins > at:
                found.append(Span(half.half, at, stop.begins))
            at = max(at, stop.ends)
        if half.ends > at:
            found.append(Span(half.half, at, half.ends))
    return tuple(found)
