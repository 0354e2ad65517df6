"""Dates and time stamps read from texts, as Spark reads them, and written as texts."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from functools import lru_cache

from millstream.expressions.functions.dates import day_number, parts_of
from millstream.expressions.functions.function import Function, Maybe
from millstream.expressions.functions.timestamps import DAY, SECOND, fits
from millstream.expressions.functions.written_numbers import BLANKS
from millstream.expressions.tree import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ
from millstream.expressions.written import CAST, TRY_CAST

_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_CLOCK = r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?)?)?"
_DAY_AND_CLOCK = re.compile(rf"([+-]?[0-9]{{4,6}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T]{_CLOCK})?)?)?", re.DOTALL)
_CLOCK_ALONE = re.compile(rf"(?=[0-9]{{1,2}}:|T)T?{_CLOCK}", re.DOTALL)
_OFFSET = re.compile(r"([+-])(?:(\d)|(\d\d)(?:(\d\d)(\d\d)?|:(\d\d)(?::(\d\d))?)?)", re.ASCII)
_SHORT_HOURS, _SHORT_MINUTES = re.compile(r"([+-])(\d):"), re.compile(r"([+-]\d\d:)(\d)$")
_PREFIX = re.compile(r"(UTC|GMT|UT)(?=[+-])")
_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
}
"""The short names of zones that Java knows."""


def date_of(text: Maybe) -> Maybe:
    """The date that a text stands for, NULL if it stands for none; what comes behind a day is left out.

    >>> date_of("1970-01-02"), date_of("1970-01-02 at noon"), date_of("1970-13-01")
    (1, 1, None)
    """
    match = None if text is None else _DATE.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    return day_number(int(match[1] + match[2]), int(match[3] or 1), int(match[4] or 1))


def timestamp_of(text: Maybe) -> Maybe:
    """The time stamp that a text stands for, NULL if it stands for none. A time without a day is one of today.

    >>> timestamp_of("1970-01-01 00:00:01.5"), timestamp_of("1970-01-01T01:00:00+01:00"), timestamp_of("soon")
    (1500000, 0, None)
    """
    found = None if text is None else _read(text)
    if found is None:
        return None
    days, clock, zone = found
    if days is None:
        now = datetime.datetime.now(datetime.UTC)
        days = (now.date() - datetime.date(1970, 1, 1)).days
    micros = days * DAY + clock
    offset = 0 if zone is None else _offset(zone, micros)
    return None if offset is None else fits(micros - offset)


def timestamp_ntz_of(text: Maybe) -> Maybe:
    """The time stamp without a zone that a text stands for: that of a zone in it is left out."""
    found = None if text is None else _read(text)
    if found is None or found[0] is None or (found[2] is not None and _offset(found[2], 0) is None):
        return None
    return fits(found[0] * DAY + found[1])


def of_today(text: str) -> bool:
    """Whether a text is a time without a day: what it stands for depends on when it is read."""
    found = _read(text)
    return found is not None and found[0] is None


def _read(text: str) -> tuple[int | None, int, str | None] | None:
    """The day, the microseconds of the day and the zone; None if it is no time."""
    plain = text.strip(BLANKS)
    match = _DAY_AND_CLOCK.fullmatch(plain) or _CLOCK_ALONE.fullmatch(plain)
    if match is None:
        return None
    *day, hour, minute, second, fraction, zone = match.groups()
    days = day_number(*(int(part or 1) for part in day)) if day else None
    hours, minutes, seconds = (int(part or 0) for part in (hour, minute, second))
    if (day and days is None) or hours > 23 or minutes > 59 or seconds > 59:
        return None
    micros = int(((fraction or "") + "000000")[:6])
    return days, ((hours * 60 + minutes) * 60 + seconds) * SECOND + micros, zone


def _offset(zone: str, micros: int) -> int | None:
    """How far ahead of UTC a zone is at a local time, None if there is no such zone."""
    name = zone.strip(BLANKS)
    name = _SHORT_MINUTES.sub(r"\g<1>0\2", _SHORT_HOURS.sub(r"\g<1>0\2:", name, count=1), count=1)
    name = _SHORT.get(name, name)
    if name in {"Z", "UTC", "GMT", "UT"}:
        return 0
    match = _OFFSET.fullmatch(_PREFIX.sub("", name))
    if match is not None:
        return _fixed(match)
    return _in_region(name, micros)


def _fixed(match: re.Match[str]) -> int | None:
    sign, hour, hours_, minutes_, seconds_, *apart = match.groups()
    hours, minutes, seconds = (int(p or 0) for p in (hour or hours_, minutes_ or apart[0], seconds_ or apart[1]))
    total = (hours * 60 + minutes) * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        return None
    return (-total if sign == "-" else total) * SECOND


@lru_cache(maxsize=64)
def _region(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name) if name in zoneinfo.available_timezones() else None
    except (OSError, ValueError):
        return None


def _in_region(name: str, micros: int) -> int | None:
    region = _region(name)
    if region is None:
        return None
    # Rules repeat every 400 years, which are whole weeks; a calendar of Python ends with the year 9999.
    days = micros // DAY
    while parts_of(days)[0] > 9000:
        days -= 146_097
    while parts_of(days)[0] < 2:
        days += 146_097
    local = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=days, microseconds=micros % DAY)
    offset = local.replace(tzinfo=region).utcoffset()
    return None if offset is None else offset // datetime.timedelta(microseconds=1)


def date_text(date: Maybe) -> Maybe:
    """A date as it is written.

    >>> date_text(0), date_text(2_932_897)
    ('1970-01-01', '+10000-01-01')
    """
    if date is None:
        return None
    year, month, day = parts_of(date)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


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
    Function("timestamp_of", (STRING,), TIMESTAMP, timestamp_of, written=CAST, spark=TRY_CAST, varies=of_today),
    Function(
        "timestamp_ntz_of", (STRING,), TIMESTAMP_NTZ, timestamp_ntz_of, written=CAST, spark=TRY_CAST, varies=of_today
    ),
    Function("date_of", (STRING,), DATE, date_of, written=CAST, spark=TRY_CAST),
    Function("date_text", (DATE,), STRING, date_text, written=CAST, spark=TRY_CAST),
    Function("timestamp_text", (TIMESTAMP,), STRING, timestamp_text, written=CAST, spark=TRY_CAST),
)
