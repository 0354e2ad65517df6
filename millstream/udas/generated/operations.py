"""What numbers and truths do at run time, as in the rest of the language.

None is NULL. A whole number or a decimal that does not fit its type, and a division by zero, give NULL. NaN equals
NaN and is greater than every other number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_float
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

Maybe = Any
"""A value, or None for NULL: its type is known to whoever made the call."""

EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
"""Room for every decimal before it is fitted to its type."""


# -- whole numbers -----------------------------------------------------------------------------------------


def _whole(bits: int) -> tuple[Callable[..., Maybe], ...]:
    """`+ - *`, the sign and the absolute value in so many bits."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def add(a: Maybe, b: Maybe) -> Maybe:
        if a is None or b is None:
            return None
        total = a + b
        return total if low <= total <= high else None

    def sub(a: Maybe, b: Maybe) -> Maybe:
        if a is None or b is None:
            return None
        rest = a - b
        return rest if low <= rest <= high else None

    def mul(a: Maybe, b: Maybe) -> Maybe:
        if a is None or b is None:
            return None
        product = a * b
        return product if low <= product <= high else None

    def neg(a: Maybe) -> Maybe:
        return None if a is None or a == low else -a

    def absolute(a: Maybe) -> Maybe:
        return None if a is None or a == low else abs(a)

    return add, sub, mul, neg, absolute


add_int8, sub_int8, mul_int8, neg_int8, abs_int8 = _whole(8)
add_int16, sub_int16, mul_int16, neg_int16, abs_int16 = _whole(16)
add_int32, sub_int32, mul_int32, neg_int32, abs_int32 = _whole(32)
add_int64, sub_int64, mul_int64, neg_int64, abs_int64 = _whole(64)


def mod_int(a: Maybe, b: Maybe) -> Maybe:
    """The remainder, which has the sign of the dividend.

    >>> mod_int(-7, 3), mod_int(7, -3), mod_int(7, 0)
    (-1, 1, None)
    """
    if a is None or not b:
        return None
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def pmod_int(a: Maybe, b: Maybe) -> Maybe:
    """The remainder, made positive."""
    rest = mod_int(a, b)
    return mod_int(rest + b, b) if rest is not None and rest < 0 else rest


def div_int64(a: Maybe, b: Maybe) -> Maybe:
    """The whole part of a quotient, cut towards zero.

    >>> div_int64(-7, 2), div_int64(7, 0)
    (-3, None)
    """
    if a is None or not b:
        return None
    quotient = abs(a) // abs(b)
    quotient = -quotient if (a < 0) != (b < 0) else quotient
    return quotient if quotient < 2**63 else None


def bit_and(a: Maybe, b: Maybe) -> Maybe:
    """`a & b`."""
    return None if a is None or b is None else a & b


def bit_or(a: Maybe, b: Maybe) -> Maybe:
    """`a | b`."""
    return None if a is None or b is None else a | b


def bit_xor(a: Maybe, b: Maybe) -> Maybe:
    """`a ^ b`."""
    return None if a is None or b is None else a ^ b


def bit_not(a: Maybe) -> Maybe:
    """`~a`."""
    return None if a is None else ~a


# -- binary fractions --------------------------------------------------------------------------------------


def add_float64(a: Maybe, b: Maybe) -> Maybe:
    """`a + b`."""
    return None if a is None or b is None else a + b


def sub_float64(a: Maybe, b: Maybe) -> Maybe:
    """`a - b`."""
    return None if a is None or b is None else a - b


def mul_float64(a: Maybe, b: Maybe) -> Maybe:
    """`a * b`."""
    return None if a is None or b is None else a * b


def div_float64(a: Maybe, b: Maybe) -> Maybe:
    """`a / b`."""
    return None if a is None or not b else a / b


def mod_float64(a: Maybe, b: Maybe) -> Maybe:
    """The remainder, which has the sign of the dividend."""
    if a is None or not b:
        return None
    return math.nan if math.isinf(a) else math.fmod(a, b)


def neg_float64(a: Maybe) -> Maybe:
    """`-a`."""
    return None if a is None else -a


def abs_float64(a: Maybe) -> Maybe:
    """The absolute value."""
    return None if a is None else abs(a)


def float32(a: Maybe) -> Maybe:
    """A number with the digits that FLOAT has.

    >>> float32(0.1), float32(1e300)
    (0.10000000149011612, inf)
    """
    return None if a is None else c_float(a).value


def add_float32(a: Maybe, b: Maybe) -> Maybe:
    """`a + b` in FLOAT."""
    return None if a is None or b is None else c_float(a + b).value


def sub_float32(a: Maybe, b: Maybe) -> Maybe:
    """`a - b` in FLOAT."""
    return None if a is None or b is None else c_float(a - b).value


def mul_float32(a: Maybe, b: Maybe) -> Maybe:
    """`a * b` in FLOAT."""
    return None if a is None or b is None else c_float(a * b).value


def mod_float32(a: Maybe, b: Maybe) -> Maybe:
    """The remainder in FLOAT."""
    return float32(mod_float64(a, b))


neg_float32, abs_float32 = neg_float64, abs_float64


def sqrt(a: Maybe) -> Maybe:
    """The square root; NaN of a negative number."""
    return None if a is None else math.nan if a < 0 else math.sqrt(a)


def power(a: Maybe, b: Maybe) -> Maybe:
    """`a` to the power of `b`."""
    if a is None or b is None:
        return None
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan


def exp(a: Maybe) -> Maybe:
    """The number e to the power of `a`."""
    if a is None:
        return None
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf


def ln(a: Maybe) -> Maybe:
    """The natural logarithm; NULL of what has none."""
    return None if a is None or a <= 0 else math.log(a)


def log10(a: Maybe) -> Maybe:
    """The decimal logarithm."""
    return None if a is None or a <= 0 else math.log10(a)


def log2(a: Maybe) -> Maybe:
    """The binary logarithm."""
    return None if a is None or a <= 0 else math.log2(a)


def log(base: Maybe, a: Maybe) -> Maybe:
    """The logarithm to a base."""
    if base is None or a is None or base <= 0 or a <= 0:
        return None
    below = math.log(base)
    return math.log(a) / below if below else math.nan if a == 1 else math.copysign(math.inf, math.log(a))


def _wave(function: Callable[[float], float]) -> Callable[[Maybe], Maybe]:
    def of(a: Maybe) -> Maybe:
        return None if a is None else math.nan if math.isinf(a) else function(a)

    return of


sin, cos, tan = _wave(math.sin), _wave(math.cos), _wave(math.tan)


def atan(a: Maybe) -> Maybe:
    """The angle of a tangent."""
    return None if a is None else math.atan(a)


def sign(a: Maybe) -> Maybe:
    """-1.0, 0.0 or 1.0."""
    return None if a is None else math.copysign(1.0, a) if a else 0.0


def _to_long(a: float) -> int:
    return 0 if math.isnan(a) else int(max(min(a, 2**63 - 1), -(2**63)))


def floor(a: Maybe) -> Maybe:
    """The greatest whole number that is not greater."""
    return None if a is None else _to_long(a if math.isinf(a) or math.isnan(a) else math.floor(a))


def ceil(a: Maybe) -> Maybe:
    """The smallest whole number that is not smaller."""
    return None if a is None else _to_long(a if math.isinf(a) or math.isnan(a) else math.ceil(a))


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


def is_nan(a: Maybe) -> bool:
    """Whether it is NaN; FALSE for NULL."""
    return a is not None and math.isnan(a)


# -- decimals ----------------------------------------------------------------------------------------------


def decimal(a: Maybe, precision: int, scale: int) -> Maybe:
    """A decimal with so many digits, NULL if it does not fit.

    >>> decimal(Decimal("1.255"), 3, 2), decimal(Decimal("12.5"), 2, 1)
    (Decimal('1.26'), None)
    """
    if a is None:
        return None
    try:
        fitted = Decimal(a).quantize(Decimal(1).scaleb(-scale), context=EXACT)
    except InvalidOperation:
        return None
    return fitted if abs(fitted) < Decimal(10) ** (precision - scale) else None


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
    return None if a is None else a.copy_negate()


def abs_decimal(a: Maybe) -> Maybe:
    """The absolute value."""
    return None if a is None else a.copy_abs()


def floor_decimal(a: Maybe) -> Maybe:
    """The greatest whole number that is not greater."""
    return None if a is None else Decimal(math.floor(a))


def ceil_decimal(a: Maybe) -> Maybe:
    """The smallest whole number that is not smaller."""
    return None if a is None else Decimal(math.ceil(a))


# Only NaN differs from itself, and asking for that costs less than a call.
# ruff: noqa: PLR0124
# -- comparisons: those of numbers that cannot be NaN, and of all else, are written in line -------------------------


def eq(a: Maybe, b: Maybe) -> Maybe:
    """`a = b`."""
    return None if a is None or b is None else a == b or (a != a and b != b)


def lt(a: Maybe, b: Maybe) -> Maybe:
    """`a < b`."""
    return None if a is None or b is None else a < b or (b != b and a == a)


def le(a: Maybe, b: Maybe) -> Maybe:
    """`a <= b`."""
    return None if a is None or b is None else a <= b or b != b


def ne(a: Maybe, b: Maybe) -> Maybe:
    """`a <> b`."""
    same = eq(a, b)
    return None if same is None else not same


def gt(a: Maybe, b: Maybe) -> Maybe:
    """`a > b`."""
    return lt(b, a)


def ge(a: Maybe, b: Maybe) -> Maybe:
    """`a >= b`."""
    return le(b, a)


def same(a: Maybe, b: Maybe) -> bool:
    """`a <=> b`: NULL is the same as NULL."""
    return b is None if a is None else bool(eq(a, b))


def greatest(*values: Maybe) -> Maybe:
    """The greatest that is not NULL."""
    found = None
    for value in values:
        if value is not None and (found is None or lt(found, value)):
            found = value
    return found


def least(*values: Maybe) -> Maybe:
    """The smallest that is not NULL."""
    found = None
    for value in values:
        if value is not None and (found is None or lt(value, found)):
            found = value
    return found


def coalesce(*values: Maybe) -> Maybe:
    """The first that is not NULL."""
    return next((v for v in values if v is not None), None)


def nullif(a: Maybe, b: Maybe) -> Maybe:
    """`a`, but NULL where it equals `b`."""
    return None if eq(a, b) else a


# -- truths ------------------------------------------------------------------------------------------------


def both(a: Maybe, b: Maybe) -> Maybe:
    """`a AND b` of three values."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def either(a: Maybe, b: Maybe) -> Maybe:
    """`a OR b` of three values."""
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def negated(a: Maybe) -> Maybe:
    """`NOT a` of three values."""
    return None if a is None else not a


def one_of(value: Maybe, *values: Maybe) -> Maybe:
    """`value IN (a, b, ...)` of three values."""
    return among(value, values)


def among(value: Maybe, values: Any) -> Maybe:
    """`value IN (values)` of three values."""
    unknown = False
    for other in values:
        equal = eq(value, other)
        if equal:
            return True
        unknown = unknown or equal is None
    return None if unknown else False
