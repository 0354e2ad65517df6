"""Time stamps and intervals, which are microseconds, the former since 1970 in UTC."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.values import BITS_64, Values, as_numpy, elementwise, valid_only
from millstream.expressions.functions.dates import add_months, day_number, monday, parts_of, shifted
from millstream.expressions.functions.function import (
    SAME,
    Computation,
    Function,
    Maybe,
    Number,
    Result,
    formula,
    literals,
    sized,
)
from millstream.expressions.functions.whole_numbers import kernel_add_int64, kernel_sub_int64, python_forms
from millstream.expressions.tree import (
    DATE,
    FLOAT64,
    INT32,
    INT64,
    INTERVAL,
    MONTHS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Call,
)
from millstream.expressions.written import (
    CAST,
    MINUS,
    PLUS,
    PRODUCT,
    TRIED_MINUS,
    TRIED_PLUS,
    TRY_CAST,
    infix,
    within_time,
)

SECOND = 1_000_000
DAY = 86_400 * SECOND
_HOUR, _MINUTE = 3600 * SECOND, 60 * SECOND
_UNITS = {"microsecond": 1, "millisecond": 1000, "second": SECOND, "minute": _MINUTE, "hour": _HOUR}


def day_of(timestamp: Maybe) -> Maybe:
    """The date of a time stamp."""
    return None if timestamp is None else timestamp // DAY


def kernel_day_of(timestamp: Number, timestamp_null: bool) -> Result:
    """The date of a time stamp."""
    return timestamp // DAY, timestamp_null


def midnight(date: Maybe) -> Maybe:
    """The time stamp at which a date begins; NULL past the ends of time."""
    return None if date is None else fits(date * DAY)


def fits(micros: int) -> int | None:
    """A number of microseconds, None if there is no room for it."""
    return micros if -(2**63) <= micros < 2**63 else None


def hour(timestamp: Maybe) -> Maybe:
    """The hour of the day."""
    return None if timestamp is None else timestamp % DAY // _HOUR


def kernel_hour(timestamp: Number, timestamp_null: bool) -> Result:
    """The hour of the day."""
    return timestamp % DAY // _HOUR, timestamp_null


def minute(timestamp: Maybe) -> Maybe:
    """The minute of the hour."""
    return None if timestamp is None else timestamp % _HOUR // _MINUTE


def kernel_minute(timestamp: Number, timestamp_null: bool) -> Result:
    """The minute of the hour."""
    return timestamp % _HOUR // _MINUTE, timestamp_null


def second(timestamp: Maybe) -> Maybe:
    """The second of the minute."""
    return None if timestamp is None else timestamp % _MINUTE // SECOND


def kernel_second(timestamp: Number, timestamp_null: bool) -> Result:
    """The second of the minute."""
    return timestamp % _MINUTE // SECOND, timestamp_null


def unix_seconds(timestamp: Maybe) -> Maybe:
    """Seconds since 1970."""
    return None if timestamp is None else timestamp // SECOND


def kernel_unix_seconds(timestamp: Number, timestamp_null: bool) -> Result:
    """Seconds since 1970."""
    return timestamp // SECOND, timestamp_null


def unix_millis(timestamp: Maybe) -> Maybe:
    """Milliseconds since 1970."""
    return None if timestamp is None else timestamp // 1000


def kernel_unix_millis(timestamp: Number, timestamp_null: bool) -> Result:
    """Milliseconds since 1970."""
    return timestamp // 1000, timestamp_null


def unix_micros(timestamp: Maybe) -> Maybe:
    """Microseconds since 1970: what a time stamp is at run time."""
    return timestamp


def kernel_unix_micros(timestamp: Number, timestamp_null: bool) -> Result:
    """Microseconds since 1970."""
    return timestamp, timestamp_null


def shift_months(timestamp: Maybe, months: Maybe) -> Maybe:
    """A time stamp some months on."""
    if timestamp is None or months is None:
        return None
    moved = add_months(timestamp // DAY, months)
    return None if moved is None else fits(moved * DAY + timestamp % DAY)


def date_trunc(unit: Maybe, timestamp: Maybe) -> Maybe:
    """The beginning of the unit that a time stamp is in; NULL if there is no such unit."""
    if unit is None or timestamp is None:
        return None
    name = unit.lower()
    if name in _UNITS:
        return timestamp - timestamp % _UNITS[name]
    days = timestamp // DAY
    year, month, _ = parts_of(days)
    match name:
        case "day" | "dd":
            return days * DAY
        case "week":
            return fits(monday(days) * DAY)
        case "month" | "mon" | "mm":
            return midnight(day_number(year, month, 1))
        case "quarter":
            return midnight(day_number(year, (month - 1) // 3 * 3 + 1, 1))
        case "year" | "yyyy" | "yy":
            return midnight(day_number(year, 1, 1))
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


def convert_time(value: pa.Array, type_: pa.DataType) -> pa.Array:
    """Dates and timestamps into each other; the session is in UTC."""
    if pt.is_date32(type_):
        micros = value.cast(BITS_64)
        days = np.floor_divide(as_numpy(micros), DAY)
        return valid_only(days, pc.is_valid(micros), BITS_64).cast(pa.int32(), safe=False).cast(type_)
    if pt.is_date32(value.type):
        days = value.cast(pa.int32()).cast(BITS_64)
        return pc.multiply(days, pa.scalar(DAY)).cast(type_)
    return value.cast(BITS_64).cast(type_)


def arrow_date_trunc(unit: pa.Scalar, value: Values) -> Values:
    """The beginning of the unit that a time stamp is in."""
    begin = _BEGINNINGS[unit.as_py().lower()]
    found = elementwise(value, formula=begin, type_=BITS_64)
    # Past the beginning of time, it would be greater.
    inside = pc.less_equal(found, value.cast(BITS_64))
    return pc.if_else(inside, found, pa.scalar(None, BITS_64)).cast(value.type)


def _of_unit(timestamps: Any, micros: int) -> Any:
    return timestamps - timestamps % micros


def _of_week(timestamps: Any) -> Any:
    return monday(timestamps // DAY) * DAY


def _of_month(timestamps: Any) -> Any:
    days = timestamps // DAY
    return (days - parts_of(days)[2] + 1) * DAY


_BEGINNINGS: dict[str, Callable[[Any], Any]] = {
    **{name: partial(_of_unit, micros=micros) for name, micros in {**_UNITS, "day": DAY, "dd": DAY}.items()},
    "week": _of_week,
    **dict.fromkeys(("month", "mon", "mm"), _of_month),
}


def _truncated(call: Call) -> Computation | None:
    unit = literals(call.arguments[:1])
    return (arrow_date_trunc, call.arguments) if unit and unit[0].lower() in _BEGINNINGS else None


def identity(a: Maybe) -> Maybe:
    """The same number: the session is in UTC."""
    return a


_add, _sub, *_ = python_forms(64)

FUNCTIONS = (
    Function(
        "day_of", (TIMESTAMP,), DATE, day_of, kernel_day_of, arrow=sized(convert_time, 1), written=CAST, spark=TRY_CAST
    ),
    Function("midnight", (DATE,), TIMESTAMP, midnight, arrow=sized(convert_time, 1), written=CAST, spark=TRY_CAST),
    Function("hour", (TIMESTAMP,), INT32, hour, kernel_hour, sql=("hour",), arrow=formula(hour)),
    Function("minute", (TIMESTAMP,), INT32, minute, kernel_minute, sql=("minute",), arrow=formula(minute)),
    Function("second", (TIMESTAMP,), INT32, second, kernel_second, sql=("second",), arrow=formula(second)),
    Function(
        "unix_seconds",
        (TIMESTAMP,),
        INT64,
        unix_seconds,
        kernel_unix_seconds,
        sql=("unix_seconds",),
        arrow=formula(unix_seconds),
    ),
    Function(
        "unix_millis",
        (TIMESTAMP,),
        INT64,
        unix_millis,
        kernel_unix_millis,
        sql=("unix_millis",),
        arrow=formula(unix_millis),
    ),
    Function(
        "unix_micros",
        (TIMESTAMP,),
        INT64,
        unix_micros,
        kernel_unix_micros,
        sql=("unix_micros",),
        arrow=formula(unix_micros),
    ),
    Function("timestamp_micros", (INT64,), TIMESTAMP, identity, kernel_unix_micros, sql=("timestamp_micros",)),
    Function(
        "add_interval", (TIMESTAMP, INTERVAL), SAME, _add, kernel_add_int64, shifted(1), written=PLUS, spark=TRIED_PLUS
    ),
    Function(
        "subtract_interval",
        (TIMESTAMP, INTERVAL),
        SAME,
        _sub,
        kernel_sub_int64,
        shifted(-1),
        written=MINUS,
        spark=TRIED_MINUS,
    ),
    Function(
        "with_zone", (TIMESTAMP_NTZ,), TIMESTAMP, identity, arrow=sized(convert_time, 1), written=CAST, spark=TRY_CAST
    ),
    Function(
        "without_zone",
        (TIMESTAMP,),
        TIMESTAMP_NTZ,
        identity,
        arrow=sized(convert_time, 1),
        written=CAST,
        spark=TRY_CAST,
    ),
    Function("shift_months", (TIMESTAMP, MONTHS), TIMESTAMP, shift_months, written=PLUS, spark=TRIED_PLUS),
    Function(
        "date_trunc",
        (STRING, TIMESTAMP),
        TIMESTAMP,
        date_trunc,
        sql=("date_trunc",),
        arrow=_truncated,
        spark=within_time("DATE_TRUNC"),
    ),
    Function("scale_interval", (INTERVAL, FLOAT64), SAME, scale_interval, written=infix("*", PRODUCT)),
)
