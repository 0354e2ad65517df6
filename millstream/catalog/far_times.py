"""Times of any year as text: Python has the years 1 to 9999 only, and time stamps reach to the year 294,247."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CYCLE_DAYS, CYCLE_YEARS = 146_097, 400
"""The calendar is the same again after so many days."""

DAY = 86_400_000_000


def moment_text(micros: int) -> str:
    """A moment in microseconds since the epoch, as ISO 8601 in UTC without a zone.

    >>> moment_text(0), moment_text(253402300800000000), moment_text(-62167219200000001)
    ('1970-01-01T00:00:00', '+10000-01-01T00:00:00', '-0001-12-31T23:59:59.999999')
    """
    days, rest = divmod(micros, DAY)
    time = (EPOCH + timedelta(microseconds=rest)).time().isoformat()
    return f"{day_text(days)}T{time}"


def day_text(days: int) -> str:
    """A day, counted from the epoch.

    >>> day_text(0), day_text(-719529), day_text(2**31 - 1)
    ('1970-01-01', '-0001-12-31', '+5881580-07-11')
    """
    cycles, within = divmod(days, CYCLE_DAYS)
    day = date(1970, 1, 1) + timedelta(days=within)
    year = day.year + cycles * CYCLE_YEARS
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{day:%m-%d}"
