"""Numbers rounded: to whole ones, to digits after the point, to tens and hundreds."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

from millstream.expressions.functions.function import DECIMAL, SAME, WHOLE, Function, Maybe, Number, Result
from millstream.expressions.functions.whole_numbers import HIGHEST, LOWEST
from millstream.expressions.tree import FLOAT64, INT32, INT64

_ABOVE = 2.0**63


def _to_long(a: float) -> int:
    return 0 if math.isnan(a) else int(max(min(a, 2**63 - 1), -(2**63)))


def floor(a: Maybe) -> Maybe:
    """The greatest whole number that is not greater."""
    return None if a is None else _to_long(a if math.isinf(a) or math.isnan(a) else math.floor(a))


def kernel_floor(a: Number, a_null: bool) -> Result:
    """The greatest whole number that is not greater."""
    if math.isnan(a):
        return 0, a_null
    if a >= _ABOVE or a <= -_ABOVE:
        return (HIGHEST if a > 0 else LOWEST), a_null
    return math.floor(a), a_null


def ceil(a: Maybe) -> Maybe:
    """The smallest whole number that is not smaller."""
    return None if a is None else _to_long(a if math.isinf(a) or math.isnan(a) else math.ceil(a))


def kernel_ceil(a: Number, a_null: bool) -> Result:
    """The smallest whole number that is not smaller."""
    if math.isnan(a):
        return 0, a_null
    if a >= _ABOVE or a <= -_ABOVE:
        return (HIGHEST if a > 0 else LOWEST), a_null
    return math.ceil(a), a_null


def floor_decimal(a: Maybe) -> Maybe:
    """The greatest whole number that is not greater."""
    return None if a is None else Decimal(math.floor(a))


def ceil_decimal(a: Maybe) -> Maybe:
    """The smallest whole number that is not smaller."""
    return None if a is None else Decimal(math.ceil(a))


def round_float(a: Maybe, digits: Maybe) -> Maybe:
    """To so many digits after the point, halves away from zero.

    >>> round_float(2.5, 0), round_float(-0.125, 2), round_float(1234.0, -2)
    (3.0, -0.13, 1200.0)
    """
    if a is None or digits is None or math.isinf(a) or math.isnan(a):
        return a if digits is not None else None
    if abs(digits) > 400:
        return a if digits > 0 else 0.0
    return float(Decimal(repr(a)).quantize(Decimal(1).scaleb(-digits), context=Context(900, ROUND_HALF_UP)))


def round_int(a: Maybe, digits: Maybe) -> Maybe:
    """A whole number to tens, hundreds and so on, for negative digits."""
    if a is None or digits is None:
        return None
    if digits >= 0:
        return a
    unit = 10 ** min(-digits, 20)
    rounded = (abs(a) + unit // 2) // unit * unit
    return -rounded if a < 0 else rounded


FUNCTIONS = (
    Function("floor", (FLOAT64,), INT64, floor, kernel_floor),
    Function("ceil", (FLOAT64,), INT64, ceil, kernel_ceil),
    Function("floor_decimal", (DECIMAL,), DECIMAL, floor_decimal),
    Function("ceil_decimal", (DECIMAL,), DECIMAL, ceil_decimal),
    Function("round_float", (FLOAT64, INT32), FLOAT64, round_float),
    Function("round_int", (WHOLE, INT32), SAME, round_int),
)
