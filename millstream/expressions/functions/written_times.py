"""Dates and time stamps read from texts, and written as texts."""

from __future__ import annotations

import re

from millstream.expressions.functions.dates import date_of_day, day_number
from millstream.expressions.functions.function import Function, Maybe
from millstream.expressions.functions.timestamps import DAY, SECOND
from millstream.expressions.tree import DATE, STRING, TIMESTAMP

_TEXT = re.compile(
    r"\s*(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?"
    r"\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?)?)?\s*"
)


def timestamp_of(text: Maybe) -> Maybe:
    """The time stamp that a text stands for, NULL if it stands for none.

    >>> timestamp_of("1970-01-01 00:00:01.5"), timestamp_of("1970-01-01T01:00+01:00"), timestamp_of("soon")
    (1500000, 0, None)
    """
    match = None if text is None else _TEXT.fullmatch(text)
    if match is None:
        return None
    numbers = [int(p) if p else None for p in match.groups()[:6]]
    days = day_number(numbers[0] or 0, numbers[1] or 1, numbers[2] or 1)
    hours, minutes, seconds = (n or 0 for n in numbers[3:])
    if days is None or hours > 23 or minutes > 59 or seconds > 59 or 0 in numbers[:3]:
        return None
    micros = int((match[7] or "0").ljust(6, "0")[:6])
    return ((days * 24 + hours) * 60 + minutes) * 60 * SECOND + seconds * SECOND + micros - _zone(match[8])


def _zone(text: str | None) -> int:
    if text is None or text in {"Z", "UTC"}:
        return 0
    digits = text[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) < 3 else (int(digits[:-2]), int(digits[-2:]))
    return (-1 if text[0] == "-" else 1) * (hours * 60 + minutes) * 60 * SECOND


def date_of(text: Maybe) -> Maybe:
    """The date that a text stands for, NULL if it stands for none."""
    match = None if text is None else _TEXT.fullmatch(text)
    return None if match is None else day_number(int(match[1]), int(match[2] or 1), int(match[3] or 1))


def date_text(date: Maybe) -> Maybe:
    """A date as it is written."""
    return None if date is None else date_of_day(date).isoformat()


def timestamp_text(timestamp: Maybe) -> Maybe:
    """A time stamp as it is written: in UTC, with as many digits of a second as it has.

    >>> timestamp_text(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    if timestamp is None:
        return None
    rest, micros = divmod(timestamp % DAY, SECOND)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    fraction = f".{micros:06}".rstrip("0") if micros else ""
    return f"{date_text(timestamp // DAY)} {clock}{fraction}"


FUNCTIONS = (
    Function("timestamp_of", (STRING,), TIMESTAMP, timestamp_of),
    Function("date_of", (STRING,), DATE, date_of),
    Function("date_text", (DATE,), STRING, date_text),
    Function("timestamp_text", (TIMESTAMP,), STRING, timestamp_text),
)
