"""Lengths of time, as they are written."""

from __future__ import annotations

from datetime import timedelta

UNITS = {
    "MICROSECOND": timedelta(microseconds=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "SECOND": timedelta(seconds=1),
    "MINUTE": timedelta(minutes=1),
    "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1),
    "WEEK": timedelta(weeks=1),
}

LONGEST = timedelta(days=3_652_500)
"""Ten thousand years: a longer one could lead past the ends of time when it is added to a time stamp."""


class TooLong(ValueError):
    """A length of time of more than LONGEST."""


def spoken(length: timedelta) -> str:
    """A length of time in words that `interval` reads.

    >>> spoken(timedelta(seconds=5)), spoken(timedelta(minutes=90)), spoken(timedelta(days=1))
    ('5 seconds', '90 minutes', '1 day')
    """
    unit, factor = next((u, f) for u, f in reversed(UNITS.items()) if not length % f)
    number = length // factor
    return f"{number} {unit.lower()}{'' if number == 1 else 's'}"


def interval(text: str) -> timedelta:
    """Read a number and a unit of time.

    >>> interval("5 seconds"), interval("0.5 HOUR")
    (datetime.timedelta(seconds=5), datetime.timedelta(seconds=1800))
    >>> interval("4000000 days")
    Traceback (most recent call last):
    ...
    millstream.intervals.TooLong
    """
    number, _, unit = text.strip().partition(" ")
    factor = UNITS.get(unit.strip().upper().removesuffix("S"))
    try:
        value = float(number) if "." in number else int(number)
    except ValueError:
        factor = None
        value = 0
    if factor is None or value < 0:
        raise ValueError("a length of time, as 5 seconds")
    if value > LONGEST / factor:
        raise TooLong
    return value * factor
