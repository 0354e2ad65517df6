"""Values that are written out in a text: lengths of time, dates and times, whole numbers, patterns of LIKE."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

from sqlglot import exp

_MICROS = {
    "WEEK": 604_800_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
DAY = _MICROS["DAY"]
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6})\d*)?)?")
_ZONE = re.compile(r"Z|UTC|GMT|([+-])(\d{1,2}):(\d{2})")


def whole_number(node: exp.Expr) -> int | None:
    """A whole number, with or without a sign."""
    inner = node.unnest()
    literal, sign = (inner.this, -1) if isinstance(inner, exp.Neg) else (inner, 1)
    return sign * int(literal.name) if literal.is_int and isinstance(literal, exp.Literal) else None


def micros(node: exp.Expr) -> int | None:
    """The length of an interval that is written out, in microseconds."""
    inner = node.unnest()
    if isinstance(inner, exp.Add | exp.Sub):
        one, other = micros(inner.this), micros(inner.expression)
        if one is None or other is None:
            return None
        return one + other if isinstance(inner, exp.Add) else one - other
    if isinstance(inner, exp.Neg):
        length = micros(inner.this)
        return None if length is None else -length
    unit = inner.args.get("unit") if isinstance(inner, exp.Interval) else None
    if not isinstance(unit, exp.Var) or not isinstance(inner.this, exp.Literal):
        return None
    name = unit.name.upper()
    found = re.fullmatch(r"([+-]?\d+)(?:\.(\d+))?", inner.this.name.strip())
    one_unit = _MICROS.get(name) or _MICROS.get(name.removesuffix("S"))
    if found is None or one_unit is None or (found[2] and one_unit != _MICROS["SECOND"]):
        return None
    return int(Decimal(found[0]) * one_unit)


def date(text: str) -> datetime.date | None:
    """A date as Spark reads it; None for what is better left to Spark."""
    day = re.split("[ T]", text.strip(), maxsplit=1)[0]
    found = _DATE.fullmatch(day)
    try:
        return datetime.date(*(int(part or 1) for part in found.groups())) if found else None
    except ValueError:
        return None


def timestamp(text: str, zoned: bool) -> datetime.datetime | None:
    """A timestamp as Spark reads it; None for what is better left to Spark."""
    day, *rest = re.split("[ T]", text.strip(), maxsplit=1)
    found_day = date(day)
    clock = _CLOCK.match(rest[0]) if rest else None
    if found_day is None or (rest and clock is None):
        return None
    zone = datetime.timedelta()
    hour = minute = second = fraction = 0
    if clock:
        hour, minute, second = (int(part or 0) for part in clock.groups()[:3])
        fraction = int((clock[4] or "").ljust(6, "0"))
        tail = rest[0][clock.end() :].strip()
        found = _ZONE.fullmatch(tail)
        if tail and (found is None or not zoned):
            return None
        if found and found[1]:
            zone = datetime.timedelta(hours=int(found[2]), minutes=int(found[3])) * (-1 if found[1] == "-" else 1)
    try:
        value = datetime.datetime.combine(found_day, datetime.time(hour, minute, second, fraction)) - zone
    except (ValueError, OverflowError):
        return None
    return value.replace(tzinfo=datetime.UTC) if zoned else value


def like_regex(pattern: str, escape: str) -> str | None:
    r"""The regular expression for a pattern of LIKE; None if Spark refuses the pattern.

    >>> like_regex("a_%", "!"), like_regex("a!%", "!"), like_regex("a!b", "!")
    ('(?s)\\Aa..*\\z', '(?s)\\Aa%\\z', None)
    """
    parts, letters = [], iter(pattern)
    for letter in letters:
        if letter == escape:
            escaped = next(letters, "")
            if not escaped or escaped not in ("_", "%", escape):
                return None
            parts.append(re.escape(escaped))
        else:
            parts.append({"_": ".", "%": ".*"}.get(letter) or re.escape(letter))
    return rf"(?s)\A{''.join(parts)}\z"
