"""Values of one type turned into another one, on Arrow arrays."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.decimals import MOST_DIGITS, fit, unscaled
from millstream.expressions.arrow.times import convert_time
from millstream.expressions.arrow.values import BITS_64, Values, as_numpy, valid_only

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
