"""Arithmetic on decimals: rounded half up to the digits of the result, NULL where it has too many."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.values import Values, as_arrays, not_zero
from millstream.expressions.functions.division import arrow_remainder
from millstream.expressions.functions.function import DECIMAL, DIGITS, SAME, Arrow, Function, Maybe, sized
from millstream.expressions.written import PRODUCT, SIGN, SUM, called, infix, prefix

EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
"""Room for every decimal before it is fitted to its type."""


def decimal(a: Maybe, precision: int, scale: int) -> Maybe:
    """A decimal with so many digits, NULL if it does not fit.

    >>> decimal(Decimal("1.255"), 3, 2), decimal(Decimal("12.5"), 2, 1)
    (Decimal('1.26'), None)
    """
    if a is None:
        return None
    try:
        fitted = EXACT.plus(Decimal(a).quantize(Decimal(1).scaleb(-scale), context=EXACT))  # without the sign of zero
    except InvalidOperation:
        return None
    # Not abs(), which rounds to 28 digits.
    return fitted if fitted.copy_abs() < Decimal(10) ** (precision - scale) else None


def add_decimal(a: Maybe, b: Maybe, precision: int, scale: int) -> Maybe:
    """`a + b`."""
    return None if a is None or b is None else decimal(EXACT.add(a, b), precision, scale)


def sub_decimal(a: Maybe, b: Maybe, precision: int, scale: int) -> Maybe:
    """`a - b`."""
    return None if a is None or b is None else decimal(EXACT.subtract(a, b), precision, scale)


def mul_decimal(a: Maybe, b: Maybe, precision: int, scale: int) -> Maybe:
    """`a * b`."""
    return None if a is None or b is None else decimal(EXACT.multiply(a, b), precision, scale)


def div_decimal(a: Maybe, b: Maybe, precision: int, scale: int) -> Maybe:
    """`a / b`."""
    return None if a is None or not b else decimal(EXACT.divide(a, b), precision, scale)


def mod_decimal(a: Maybe, b: Maybe, precision: int, scale: int) -> Maybe:
    """The remainder, which has the sign of the dividend."""
    return None if a is None or not b else decimal(EXACT.remainder(a, b), precision, scale)


def neg_decimal(a: Maybe) -> Maybe:
    """`-a`."""
    return None if a is None else EXACT.minus(a)  # zero has no sign


def abs_decimal(a: Maybe) -> Maybe:
    """The absolute value."""
    return None if a is None else a.copy_abs()


MOST_DIGITS = 38
WIDEST = 76
"""The digits that an Arrow decimal can have."""

_LONG_DIGITS = 18
_SIGNED_DIGITS = 34
_ROUNDED = Context(prec=2 * WIDEST, rounding=ROUND_HALF_UP)


def arrow_add(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left + right` for decimals, in the type of the result."""
    return _arrow_decimal(pc.add, left, right, type_)


def arrow_subtract(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left - right`."""
    return _arrow_decimal(pc.subtract, left, right, type_)


def arrow_multiply(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left * right`."""
    return _arrow_decimal(pc.multiply, left, right, type_)


def arrow_divide(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left / right`; NULL where the divisor is zero."""
    right = not_zero(right)
    a, b = left.type, right.type
    # Arrow cuts digits off. One more than the result has is enough to round it.
    more = max(0, type_.scale + 1 - (a.scale + b.precision - b.scale + 1))
    digits = a.precision + b.precision + more + 1
    if digits > MOST_DIGITS:  # Arrow divides decimals of 256 bits wrongly
        return _one_by_one(_ROUNDED.divide, left, right, type_)
    return fit(pc.divide(left.cast(pa.decimal128(a.precision + more, a.scale + more)), right), type_)


def arrow_remainder_of(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left % right`; NULL where the divisor is zero."""
    right = not_zero(right)
    a, b = left.type, right.type
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale
    if precision > _LONG_DIGITS:
        return _one_by_one(_ROUNDED.remainder, left, right, type_)
    both = pa.decimal128(precision, scale)
    left, right = (unscaled(v.cast(both)) for v in as_arrays(left, right))
    whole = arrow_remainder(left, right).cast(pa.decimal128(19, 0))
    unit = pa.scalar(Decimal(1).scaleb(-scale), pa.decimal128(max(scale, 1), scale))
    return fit(pc.multiply(whole, unit), type_)


def _arrow_decimal(operation: Callable[..., Any], left: Values, right: Values, type_: pa.DataType) -> Values:
    a, b = left.type, right.type
    if operation is pc.multiply:
        precision = a.precision + b.precision + 1
    else:
        precision = max(a.precision - a.scale, b.precision - b.scale) + max(a.scale, b.scale) + 1
    if precision > WIDEST:
        names = {pc.add: _ROUNDED.add, pc.subtract: _ROUNDED.subtract, pc.multiply: _ROUNDED.multiply}
        return _one_by_one(names[operation], left, right, type_)
    if precision > MOST_DIGITS:
        left, right = (v.cast(pa.decimal256(v.type.precision, v.type.scale)) for v in (left, right))
    return fit(operation(left, right), type_)


def _one_by_one(operation: Callable[..., Any], left: Values, right: Values, type_: pa.DataType) -> Values:
    """For results of more digits than Arrow can hold before they are rounded."""
    pairs = zip(*(v.to_pylist() for v in as_arrays(left, right)), strict=True)
    return rounded([None if a is None or b is None else operation(a, b) for a, b in pairs], type_)


def rounded(values: list[Decimal | None], type_: pa.DataType) -> pa.Array:
    """Numbers of any length in a decimal type: rounded half up, NULL if they have too many digits before the point."""
    # Not abs(), which rounds to 28 digits.
    unit, limit = Decimal(1).scaleb(-type_.scale), Decimal(1).scaleb(type_.precision - type_.scale)
    found = [None if v is None or v.copy_abs() > limit else _ROUNDED.quantize(v, unit) for v in values]
    return pa.array([None if v is None or v.copy_abs() >= limit else v for v in found], type_)


def fit(value: Values, type_: pa.DataType) -> Values:
    """A decimal in another decimal type: rounded half up, NULL if it has too many digits before the point.

    >>> fit(pa.array([Decimal("9.94"), Decimal("-9.95")]), pa.decimal128(2, 1)).to_pylist()
    [Decimal('9.9'), None]
    """
    from_ = value.type
    if from_ == type_:
        return value
    whole, digits = from_.precision - from_.scale, max(from_.precision, type_.precision) + 1
    if from_.scale > type_.scale and digits > MOST_DIGITS:  # where Arrow rounds wrongly
        return rounded(value.to_pylist(), type_)
    if from_.scale > type_.scale:
        value = pc.round(value.cast(_wide(digits, from_.scale)), type_.scale, "half_towards_infinity")
        value = value.cast(_wide(digits, type_.scale))
        whole += 1
    if whole > type_.precision - type_.scale:
        value = value.cast(_wide(digits, value.type.scale))
        limit = pa.scalar(Decimal(1).scaleb(type_.precision - type_.scale), value.type)
        value = pc.if_else(pc.less(pc.abs(value), limit), value, pa.scalar(None, value.type))
    return value.cast(type_)


def _wide(digits: int, scale: int) -> pa.DataType:
    """A type that has room for so many digits, and some to spare; the smaller one is much faster."""
    return pa.decimal128(MOST_DIGITS, scale) if digits <= MOST_DIGITS else pa.decimal256(WIDEST, scale)


def unscaled(column: pa.Array) -> pa.Array:
    """Decimals of no more than 18 digits as whole numbers, without regard to the point."""
    halves = np.frombuffer(column.buffers()[1] or b"", np.int64)[2 * column.offset :][: 2 * len(column) : 2]
    return pa.array(halves, mask=pc.is_null(column).to_numpy(zero_copy_only=False))


def _signed(function: Callable[..., Any]) -> Arrow:
    """Beyond 34 digits, Spark loses some of a decimal whose sign is changed."""
    return lambda call: (function, call.arguments) if call.type.precision <= _SIGNED_DIGITS else None


FUNCTIONS = (
    Function(
        "add_decimal",
        (DECIMAL, DECIMAL, DIGITS, DIGITS),
        DECIMAL,
        add_decimal,
        arrow=sized(arrow_add),
        written=infix("+", SUM),
    ),
    Function(
        "sub_decimal",
        (DECIMAL, DECIMAL, DIGITS, DIGITS),
        DECIMAL,
        sub_decimal,
        arrow=sized(arrow_subtract),
        written=infix("-", SUM),
    ),
    Function(
        "mul_decimal",
        (DECIMAL, DECIMAL, DIGITS, DIGITS),
        DECIMAL,
        mul_decimal,
        arrow=sized(arrow_multiply),
        written=infix("*", PRODUCT),
    ),
    Function(
        "div_decimal",
        (DECIMAL, DECIMAL, DIGITS, DIGITS),
        DECIMAL,
        div_decimal,
        arrow=sized(arrow_divide),
        written=infix("/", PRODUCT),
    ),
    Function(
        "mod_decimal",
        (DECIMAL, DECIMAL, DIGITS, DIGITS),
        DECIMAL,
        mod_decimal,
        arrow=sized(arrow_remainder_of),
        written=infix("%", PRODUCT),
    ),
    Function("neg_decimal", (DECIMAL,), SAME, neg_decimal, arrow=_signed(pc.negate), written=prefix("-", SIGN)),
    Function("abs_decimal", (DECIMAL,), SAME, abs_decimal, arrow=_signed(pc.abs), written=called("ABS")),
)
