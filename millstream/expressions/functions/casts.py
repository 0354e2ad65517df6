"""CAST of numbers and truths into each other: what does not fit becomes NULL."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.types import arrow_type
from millstream.expressions.arrow.values import BITS_64, Values, as_numpy, valid_only
from millstream.expressions.functions.decimals import MOST_DIGITS, decimal, fit, unscaled
from millstream.expressions.functions.floats import float32, kernel_float32
from millstream.expressions.functions.function import (
    ANY,
    DECIMAL,
    DIGITS,
    WHOLE,
    Computation,
    Function,
    Maybe,
    Number,
    Result,
)
from millstream.expressions.functions.timestamps import convert_time
from millstream.expressions.tree import BOOL, FLOAT32, FLOAT64, INT32, INT64, Call
from millstream.expressions.written import CAST, TRY_CAST


def to_int(a: Maybe, bits: int) -> Maybe:
    """A number cut to a whole one of so many bits.

    >>> to_int(3.9, 32), to_int(-3.9, 32), to_int(300, 8), to_int(float("nan"), 32)
    (3, -3, None, None)
    """
    if a is None or (isinstance(a, float) and not math.isfinite(a)):
        return None
    whole = int(a)
    if bits == 64 and isinstance(a, float) and whole == 2**63:
        return whole - 1  # the greatest BIGINT is no DOUBLE: Java takes the one after it for it
    return whole if -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1) else None


def kernel_float_to_int(a: Number, a_null: bool, bits: Number, _: bool) -> Result:
    """A number cut to a whole one of so many bits."""
    bound = 2.0 ** (bits - 1)
    whole = np.trunc(a)
    if bits == 64 and whole == bound:
        return 2**63 - 1, a_null  # the greatest BIGINT is no DOUBLE: Java takes the one after it for it
    fits = whole >= -bound and whole < bound
    return (int(whole) if fits else 0), a_null or not fits


def kernel_int_to_int(a: Number, a_null: bool, bits: Number, _: bool) -> Result:
    """A whole number in so many bits."""
    bound = 1 << (bits - 2)  # half of what is meant, which fits
    return a, a_null or a // 2 < -bound or a // 2 >= bound


def to_float(a: Maybe) -> Maybe:
    """A whole number, a decimal or a truth as a binary fraction."""
    return None if a is None else float(a)


def kernel_to_float(a: Number, a_null: bool) -> Result:
    """A whole number or a truth as a binary fraction."""
    return float(a), a_null


def float_to_decimal(a: Maybe, precision: int, scale: int) -> Maybe:
    """A binary fraction as a decimal, by the digits it is written with."""
    return None if a is None or not math.isfinite(a) else decimal(Decimal(repr(a)), precision, scale)


def to_bool(a: Maybe) -> Maybe:
    """A number as a truth."""
    return None if a is None else a != 0


def kernel_to_bool(a: Number, a_null: bool) -> Result:
    """A number as a truth."""
    return a != 0, a_null


def bool_to_int(a: Maybe) -> Maybe:
    """1 or 0."""
    return None if a is None else int(a)


def kernel_bool_to_int(a: Number, a_null: bool) -> Result:
    """1 or 0."""
    return (1 if a else 0), a_null


_EXACT_DIGITS = 15
"""Whole numbers of so many digits are exact as DOUBLE, and so are the powers of ten that they are divided by."""


def convert(value: Values, type_: pa.DataType) -> Values:
    """A value in another type; NULL where it does not fit, as TRY_CAST has it.

    >>> convert(pa.array([1.9, -1.9, 1e10, float("nan")]), pa.int32()).to_pylist()
    [1, -1, None, None]
    """
    from_ = value.type
    if from_ == type_:
        return value
    if pt.is_temporal(type_):
        return convert_time(value, type_)
    if pt.is_decimal(from_):
        return _of_decimal(value, type_)
    if pt.is_decimal(type_):
        return fit(value.cast(BITS_64).cast(pa.decimal128(19, 0)), type_)
    if pt.is_integer(type_):
        return _whole(value, type_)
    return value.cast(type_, safe=False)


def _of_decimal(value: pa.Array, type_: pa.DataType) -> pa.Array:
    from_ = value.type
    if pt.is_decimal(type_):
        return fit(value, type_)
    if pt.is_float64(type_) and from_.precision <= _EXACT_DIGITS:
        return pc.divide(unscaled(value).cast(type_), pa.scalar(float(10**from_.scale)))
    if pt.is_floating(type_):
        return value.cast(pa.string()).cast(type_)
    if from_.precision == MOST_DIGITS:  # where Arrow cuts off wrongly
        whole = pa.array([None if v is None else Decimal(int(v)) for v in value.to_pylist()], pa.decimal128(38, 0))
    else:  # Arrow refuses to cut off all the digits that a type has
        whole = pc.trunc(value.cast(pa.decimal128(MOST_DIGITS, from_.scale))).cast(pa.decimal128(MOST_DIGITS, 0))
    least, most = _bounds(type_)
    inside = pc.and_(pc.greater_equal(whole, pa.scalar(least)), pc.less_equal(whole, pa.scalar(most)))
    return pc.if_else(inside, whole, pa.scalar(None, whole.type)).cast(type_)


def _bounds(type_: pa.DataType) -> tuple[Decimal, Decimal]:
    least = -(2 ** (type_.bit_width - 1))
    return Decimal(least), Decimal(-least - 1)


def _whole(value: pa.Array, type_: pa.DataType) -> pa.Array:
    least, most = map(int, _bounds(type_))
    if pt.is_integer(value.type):
        if value.type.bit_width <= type_.bit_width:
            return value.cast(type_)
        inside = pc.and_(
            pc.greater_equal(value, pa.scalar(least, value.type)), pc.less_equal(value, pa.scalar(most, value.type))
        )
        return pc.if_else(inside, value, pa.scalar(None, value.type)).cast(type_)
    numbers = as_numpy(value.cast(pa.float64()), np.nan)
    fits = (np.floor(numbers) <= float(most)) & (np.ceil(numbers) >= float(least))
    numbers = np.where(fits, numbers, 0)
    # The greatest BIGINT is no DOUBLE: the one after it passes the test, and is cut back, as in Java.
    over = numbers >= 2.0**63
    cut = np.where(over, np.int64(2**63 - 1), np.where(over, 0, numbers).astype(np.int64))
    return valid_only(cut, pa.array(fits), BITS_64).cast(type_)


def _converted(call: Call) -> Computation:
    """Straight from the number that is cast, also where the other forms go by DOUBLE."""
    value = call.arguments[0]
    if call.type == FLOAT32 and isinstance(value, Call) and value.function == "to_float":
        value = value.arguments[0]
    return partial(convert, type_=arrow_type(call.type)), (value,)


def widen(a: Maybe) -> Maybe:
    """A number in a wider type: the same number."""
    return a


def kernel_widen(a: Number, a_null: bool) -> Result:
    """A number in a wider type: the same number."""
    return a, a_null


def null_as(a: Maybe) -> Maybe:
    """NULL in a type: all that is ever made of NULL."""
    return None


def kernel_null_as(a: Number, a_null: bool) -> Result:
    """NULL in a type."""
    return a, True


FUNCTIONS = (
    Function("null_as", (ANY,), ANY, null_as, kernel_null_as, written=CAST, spark=TRY_CAST),
    Function("widen", (ANY,), ANY, widen, kernel_widen, arrow=_converted, written=CAST, spark=TRY_CAST),
    Function("float32", (FLOAT64,), FLOAT32, float32, kernel_float32, arrow=_converted, written=CAST, spark=TRY_CAST),
    Function("decimal", (DECIMAL, DIGITS, DIGITS), DECIMAL, decimal, arrow=_converted, written=CAST, spark=TRY_CAST),
    Function(
        "float_to_int",
        (FLOAT64, DIGITS),
        INT64,
        to_int,
        kernel_float_to_int,
        arrow=_converted,
        written=CAST,
        spark=TRY_CAST,
    ),
    Function(
        "int_to_int", (WHOLE, DIGITS), INT64, to_int, kernel_int_to_int, arrow=_converted, written=CAST, spark=TRY_CAST
    ),
    Function("decimal_to_int", (DECIMAL, DIGITS), INT64, to_int, arrow=_converted, written=CAST, spark=TRY_CAST),
    Function("to_float", (ANY,), FLOAT64, to_float, kernel_to_float, arrow=_converted, written=CAST, spark=TRY_CAST),
    Function("float_to_decimal", (FLOAT64, DIGITS, DIGITS), DECIMAL, float_to_decimal, written=CAST, spark=TRY_CAST),
    Function("to_bool", (ANY,), BOOL, to_bool, kernel_to_bool, written=CAST, spark=TRY_CAST),
    Function(
        "bool_to_int", (BOOL,), INT32, bool_to_int, kernel_bool_to_int, arrow=_converted, written=CAST, spark=TRY_CAST
    ),
)
