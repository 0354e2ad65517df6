"""Dates, which are days since 1970: their parts, and dates some time on."""

from __future__ import annotations

import calendar
import datetime

from millstream.expressions.functions.function import Function, Maybe
from millstream.expressions.functions.whole_numbers import kernel_forms, python_forms
from millstream.expressions.tree import DATE, INT32

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def date_of_day(days: int) -> datetime.date:
    """The date of a number of days."""
    # Time stamps may lie outside the calendar that datetime knows: they are then in its first or last year.
    return datetime.date.fromordinal(min(max(days + _EPOCH, 1), datetime.date.max.toordinal()))


def day_number(year: int, month: int, day: int) -> int | None:
    """The number of days of a date, None if there is no such date."""
    try:
        return datetime.date(year, month, day).toordinal() - _EPOCH
    except (ValueError, OverflowError):
        return None


def year(date: Maybe) -> Maybe:
    """The year."""
    return None if date is None else date_of_day(date).year


def month(date: Maybe) -> Maybe:
    """The month, from 1."""
    return None if date is None else date_of_day(date).month


def quarter(date: Maybe) -> Maybe:
    """The quarter of the year, from 1."""
    return None if date is None else (date_of_day(date).month + 2) // 3


def day(date: Maybe) -> Maybe:
    """The day of the month."""
    return None if date is None else date_of_day(date).day


def dayofweek(date: Maybe) -> Maybe:
    """The day of the week: 1 is Sunday."""
    return None if date is None else (date + 4) % 7 + 1


def dayofyear(date: Maybe) -> Maybe:
    """The day of the year, from 1."""
    return None if date is None else date_of_day(date).timetuple().tm_yday


def weekofyear(date: Maybe) -> Maybe:
    """The ISO week."""
    return None if date is None else date_of_day(date).isocalendar().week


def add_months(date: Maybe, months: Maybe) -> Maybe:
    """A date some months on, at the end of the month if it is shorter.

    >>> date_of_day(add_months(19_753, 1))  # of 2024-01-31
    datetime.date(2024, 2, 29)
    """
    if date is None or months is None:
        return None
    start = date_of_day(date)
    years, place = divmod(start.month - 1 + months, 12)
    target = start.year + years
    if not 1 <= target <= 9999:
        return None
    return day_number(target, place + 1, min(start.day, calendar.monthrange(target, place + 1)[1]))


_add, _sub, *_ = python_forms(32)
_kernel_add, _kernel_sub, *_ = kernel_forms(32)


FUNCTIONS = (
    Function("year", (DATE,), INT32, year, sql=("year",)),
    Function("month", (DATE,), INT32, month, sql=("month",)),
    Function("quarter", (DATE,), INT32, quarter, sql=("quarter",)),
    Function("day", (DATE,), INT32, day, sql=("day", "dayofmonth")),
    Function("dayofweek", (DATE,), INT32, dayofweek, sql=("dayofweek",)),
    Function("dayofyear", (DATE,), INT32, dayofyear, sql=("dayofyear",)),
    Function("weekofyear", (DATE,), INT32, weekofyear, sql=("weekofyear",)),
    Function("add_months", (DATE, INT32), DATE, add_months, sql=("add_months",)),
    Function("add_days", (DATE, INT32), DATE, _add, _kernel_add, sql=("date_add",)),
    Function("subtract_days", (DATE, INT32), DATE, _sub, _kernel_sub, sql=("date_sub",)),
    Function("days_between", (DATE, DATE), INT32, _sub, _kernel_sub, sql=("datediff", "date_diff")),
)
