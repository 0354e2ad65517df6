"""What dates and time stamps do at run time: days and microseconds since 1970, in UTC; None is NULL."""

from __future__ import annotations

import calendar
import datetime
import re

from millstream.udas.generated.operations import Maybe

SECOND = 1_000_000
DAY = 86_400 * SECOND
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_TEXT = re.compile(
    r"\s*(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?"
    r"\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?)?)?\s*"
)
_UNITS = {"microsecond": 1, "millisecond": 1000, "second": SECOND, "minute": 60 * SECOND, "hour": 3600 * SECOND}


def _date(days: int) -> datetime.date:
    # Time stamps may lie outside the calendar that datetime knows: they are then in its first or last year.
    return datetime.date.fromordinal(min(max(days + _EPOCH, 1), datetime.date.max.toordinal()))


def _days(year: int, month: int, day: int) -> int | None:
    try:
        return datetime.date(year, month, day).toordinal() - _EPOCH
    except (ValueError, OverflowError):
        return None


def day_of(timestamp: Maybe) -> Maybe:
    """The date of a time stamp."""
    return None if timestamp is None else timestamp // DAY


def midnight(date: Maybe) -> Maybe:
    """The time stamp at which a date begins."""
    return None if date is None else date * DAY


def year(date: Maybe) -> Maybe:
    """The year."""
    return None if date is None else _date(date).year


def month(date: Maybe) -> Maybe:
    """The month, from 1."""
    return None if date is None else _date(date).month


def quarter(date: Maybe) -> Maybe:
    """The quarter of the year, from 1."""
    return None if date is None else (_date(date).month + 2) // 3


def day(date: Maybe) -> Maybe:
    """The day of the month."""
    return None if date is None else _date(date).day


def dayofweek(date: Maybe) -> Maybe:
    """The day of the week: 1 is Sunday."""
    return None if date is None else (date + 4) % 7 + 1


def dayofyear(date: Maybe) -> Maybe:
    """The day of the year, from 1."""
    return None if date is None else _date(date).timetuple().tm_yday


def weekofyear(date: Maybe) -> Maybe:
    """The ISO week."""
    return None if date is None else _date(date).isocalendar().week


def hour(timestamp: Maybe) -> Maybe:
    """The hour of the day."""
    return None if timestamp is None else timestamp % DAY // (3600 * SECOND)


def minute(timestamp: Maybe) -> Maybe:
    """The minute of the hour."""
    return None if timestamp is None else timestamp % (3600 * SECOND) // (60 * SECOND)


def second(timestamp: Maybe) -> Maybe:
    """The second of the minute."""
    return None if timestamp is None else timestamp % (60 * SECOND) // SECOND


def unix_seconds(timestamp: Maybe) -> Maybe:
    """Seconds since 1970."""
    return None if timestamp is None else timestamp // SECOND


def unix_millis(timestamp: Maybe) -> Maybe:
    """Milliseconds since 1970."""
    return None if timestamp is None else timestamp // 1000


def unix_micros(timestamp: Maybe) -> Maybe:
    """Microseconds since 1970: what a time stamp is at run time."""
    return timestamp


def add_months(date: Maybe, months: Maybe) -> Maybe:
    """A date some months on, at the end of the month if it is shorter.

    >>> date_text(add_months(date_of("2024-01-31"), 1))
    '2024-02-29'
    """
    if date is None or months is None:
        return None
    start = _date(date)
    years, place = divmod(start.month - 1 + months, 12)
    target = start.year + years
    if not 1 <= target <= 9999:
        return None
    return _days(target, place + 1, min(start.day, calendar.monthrange(target, place + 1)[1]))


def shift_months(timestamp: Maybe, months: Maybe) -> Maybe:
    """A time stamp some months on."""
    if timestamp is None or months is None:
        return None
    moved = add_months(timestamp // DAY, months)
    return None if moved is None else moved * DAY + timestamp % DAY


def date_trunc(unit: Maybe, timestamp: Maybe) -> Maybe:
    """The beginning of the unit that a time stamp is in; NULL if there is no such unit."""
    if unit is None or timestamp is None:
        return None
    name = unit.lower()
    if name in _UNITS:
        return timestamp - timestamp % _UNITS[name]
    days = timestamp // DAY
    start = _date(days)
    match name:
        case "day" | "dd":
            return days * DAY
        case "week":
            return (days - start.weekday()) * DAY
        case "month" | "mon" | "mm":
            return midnight(_days(start.year, start.month, 1))
        case "quarter":
            return midnight(_days(start.year, (start.month - 1) // 3 * 3 + 1, 1))
        case "year" | "yyyy" | "yy":
            return midnight(_days(start.year, 1, 1))
    return None


def scale_interval(interval: Maybe, factor: Maybe) -> Maybe:
    """An interval so many times."""
    if interval is None or factor is None:
        return None
    try:
        scaled = round(interval * factor)
    except (OverflowError, ValueError):
        return None
    return scaled if abs(scaled) < 2**63 else None


def timestamp_of(text: Maybe) -> Maybe:
    """The time stamp that a text stands for, NULL if it stands for none.

    >>> timestamp_of("1970-01-01 00:00:01.5"), timestamp_of("1970-01-01T01:00+01:00"), timestamp_of("soon")
    (1500000, 0, None)
    """
    match = None if text is None else _TEXT.fullmatch(text)
    if match is None:
        return None
    numbers = [int(p) if p else None for p in match.groups()[:6]]
    days = _days(numbers[0] or 0, numbers[1] or 1, numbers[2] or 1)
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
    return None if match is None else _days(int(match[1]), int(match[2] or 1), int(match[3] or 1))


def date_text(date: Maybe) -> Maybe:
    """A date as it is written."""
    return None if date is None else _date(date).isoformat()


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
