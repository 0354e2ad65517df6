"""Dates, which are days since 1970: their parts, and dates some time on."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.types as pt

from millstream.expressions.arrow.values import BITS_64, Values
from millstream.expressions.functions.function import Arrow, Computation, Function, Maybe, formula, literals
from millstream.expressions.functions.whole_numbers import arrow_add, kernel_forms, python_forms
from millstream.expressions.tree import DATE, INT32, Call
from millstream.expressions.written import MINUS, PLUS, days_later, within_days

_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ERA = 146_097  # days in 400 years


def parts_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days, in the calendar of today, whatever the year.

    >>> parts_of(19_782), parts_of(-719_529)
    ((2024, 2, 29), (-1, 12, 31))
    """
    era, day = divmod(days + 719_468, _ERA)  # since the first of March of the year 0
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    rest = day - (365 * year + year // 4 - year // 100)
    month = (5 * rest + 2) // 153
    return era * 400 + year + (month > 9), (month + 2) % 12 + 1, rest - (153 * month + 2) // 5 + 1


def day_number(year: int, month: int, day: int) -> int | None:
    """The number of days of a date, None if there is no such date, or it is too far away for a DATE.

    >>> day_number(1970, 1, 2), day_number(2023, 2, 29)
    (1, None)
    """
    if not 1 <= month <= 12 or not 1 <= day <= days_in(year, month):
        return None
    year -= month < 3
    era, place = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    found = era * _ERA + place * 365 + place // 4 - place // 100 + of_year - 719_468
    return found if -(2**31) <= found < 2**31 else None


def days_in(year: int, month: int) -> int:
    """How many days a month has."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 28 if month == 2 and not leap else _DAYS[month - 1]


def monday(days: int) -> int:
    """The Monday of a week."""
    return days - (days + 3) % 7


def year(date: Maybe) -> Maybe:
    """The year."""
    return None if date is None else parts_of(date)[0]


def month(date: Maybe) -> Maybe:
    """The month, from 1."""
    return None if date is None else parts_of(date)[1]


def quarter(date: Maybe) -> Maybe:
    """The quarter of the year, from 1."""
    return None if date is None else (parts_of(date)[1] + 2) // 3


def day(date: Maybe) -> Maybe:
    """The day of the month."""
    return None if date is None else parts_of(date)[2]


def dayofweek(date: Maybe) -> Maybe:
    """The day of the week: 1 is Sunday."""
    return None if date is None else (date + 4) % 7 + 1


def dayofyear(date: Maybe) -> Maybe:
    """The day of the year, from 1."""
    return None if date is None else _day_of_year(date)


def _day_of_year(date: int) -> int:
    year, month, day = parts_of(date)
    return sum(days_in(year, m) for m in range(1, month)) + day


def weekofyear(date: Maybe) -> Maybe:
    """The ISO week."""
    return None if date is None else (_day_of_year(monday(date) + 3) - 1) // 7 + 1


def add_months(date: Maybe, months: Maybe) -> Maybe:
    """A date some months on, at the end of the month if it is shorter.

    >>> parts_of(add_months(19_753, 1))  # of 2024-01-31
    (2024, 2, 29)
    """
    if date is None or months is None:
        return None
    year, month, day = parts_of(date)
    years, place = divmod(month - 1 + months, 12)
    return day_number(year + years, place + 1, min(day, days_in(year + years, place + 1)))


_add, _sub, *_ = python_forms(32)
_kernel_add, _kernel_sub, *_ = kernel_forms(32)


def arrow_shift(value: Values, by: int) -> Values:
    """A date moved by days, or a timestamp moved by microseconds."""
    width = pa.int32() if pt.is_date32(value.type) else BITS_64
    return arrow_add(value.cast(width), pa.scalar(by, width)).cast(value.type)


def shifted(sign: int) -> Arrow:
    """A date or a time stamp, moved on or back by what is written out."""

    def form(call: Call) -> Computation | None:
        found = literals(call.arguments[1:])
        if not found or abs(found[0]) >= (2**31 if call.type == DATE else 2**63):
            return None
        return partial(arrow_shift, by=sign * found[0]), call.arguments[:1]

    return form


FUNCTIONS = (
    Function("year", (DATE,), INT32, year, sql=("year",), arrow=formula(year)),
    Function("month", (DATE,), INT32, month, sql=("month",), arrow=formula(month)),
    Function("quarter", (DATE,), INT32, quarter, sql=("quarter",), arrow=formula(quarter)),
    Function("day", (DATE,), INT32, day, sql=("day", "dayofmonth"), arrow=formula(day)),
    Function("dayofweek", (DATE,), INT32, dayofweek, sql=("dayofweek",), arrow=formula(dayofweek)),
    Function("dayofyear", (DATE,), INT32, dayofyear, sql=("dayofyear",)),
    Function("weekofyear", (DATE,), INT32, weekofyear, sql=("weekofyear",)),
    Function("add_months", (DATE, INT32), DATE, add_months, sql=("add_months",), spark=within_days("ADD_MONTHS")),
    Function(
        "add_days",
        (DATE, INT32),
        DATE,
        _add,
        _kernel_add,
        sql=("date_add",),
        arrow=shifted(1),
        written=PLUS,
        spark=days_later("+", "TRY_ADD"),
    ),
    Function(
        "subtract_days",
        (DATE, INT32),
        DATE,
        _sub,
        _kernel_sub,
        sql=("date_sub",),
        arrow=shifted(-1),
        written=MINUS,
        spark=days_later("-", "TRY_SUBTRACT"),
    ),
    Function("days_between", (DATE, DATE), INT32, _sub, _kernel_sub, sql=("datediff", "date_diff")),
)
