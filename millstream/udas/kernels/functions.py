"""What numbers and truths do in kernels: the functions of `operations`, `casts` and `times` in a form for numba.

Each takes a value and whether it is NULL for every argument, and gives both for the result. The value of a NULL is
any. They are functions of Python like others, so that they can be tested beside those that they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream.udas.generated.times import DAY, SECOND

Number = Any
"""A number or a truth of a type that numba has."""

Result = tuple[Number, bool]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_ABOVE = 2.0**63
_HOUR, _MINUTE = 3600 * SECOND, 60 * SECOND


# -- whole numbers -----------------------------------------------------------------------------------------


def _whole(bits: int) -> dict[str, Callable[..., Result]]:
    """`+ - *`, the sign and the absolute value in so few bits that 64 are enough to compute them."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def add(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
        total = a + b
        return total, a_null or b_null or total < low or total > high

    def sub(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
        rest = a - b
        return rest, a_null or b_null or rest < low or rest > high

    def mul(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
        product = a * b
        return product, a_null or b_null or product < low or product > high

    def neg(a: Number, a_null: bool) -> Result:
        return -a, a_null or a == low

    def absolute(a: Number, a_null: bool) -> Result:
        return abs(a), a_null or a == low

    names = (f"{name}_int{bits}" for name in ("add", "sub", "mul", "neg", "abs"))
    return dict(zip(names, (add, sub, mul, neg, absolute), strict=True))


def add_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a + b`."""
    over = a > _HIGHEST - b if b > 0 else a < _LOWEST - b
    return (0 if over else a + b), a_null or b_null or over


def sub_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a - b`."""
    over = a > _HIGHEST + b if b < 0 else a < _LOWEST + b
    return (0 if over else a - b), a_null or b_null or over


def mul_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a * b`."""
    if a == 0 or b == 0:
        return 0, a_null or b_null
    if a == -1 or b == -1:
        other = b if a == -1 else a
        return (0 if other == _LOWEST else -other), a_null or b_null or other == _LOWEST
    # Divisions, since the product itself might not fit; none of them is by 0 or -1.
    if a > 0 and b > 0:
        over = a > _HIGHEST // b
    elif a < 0 and b < 0:
        over = _LOWEST in (a, b) or -a > _HIGHEST // -b
    else:
        positive, negative = max(a, b), min(a, b)
        over = negative < _LOWEST // positive + (1 if _LOWEST % positive != 0 else 0)
    return (0 if over else a * b), a_null or b_null or over


def neg_int64(a: Number, a_null: bool) -> Result:
    """`-a`."""
    return (0 if a == _LOWEST else -a), a_null or a == _LOWEST


def abs_int64(a: Number, a_null: bool) -> Result:
    """The absolute value."""
    return (0 if a == _LOWEST else abs(a)), a_null or a == _LOWEST


def mod_int(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The remainder, which has the sign of the dividend."""
    if b in (0, -1):
        return 0, a_null or b_null or b == 0
    rest = a % b
    return (rest - b if rest != 0 and (rest < 0) != (a < 0) else rest), a_null or b_null


def pmod_int(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The remainder, made positive."""
    if b in (0, -1):
        return 0, a_null or b_null or b == 0
    rest = a % b
    return (rest - b if b < 0 and rest != 0 and a > 0 else rest), a_null or b_null


def div_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The whole part of a quotient, cut towards zero."""
    if b == 0:
        return 0, True
    if b == -1:
        return (0 if a == _LOWEST else -a), a_null or b_null or a == _LOWEST
    quotient = a // b
    return (quotient + 1 if quotient < 0 and quotient * b != a else quotient), a_null or b_null


def bit_and(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a & b`."""
    return a & b, a_null or b_null


def bit_or(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a | b`."""
    return a | b, a_null or b_null


def bit_xor(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a ^ b`."""
    return a ^ b, a_null or b_null


def bit_not(a: Number, a_null: bool) -> Result:
    """`~a`."""
    return ~a, a_null


# -- binary fractions --------------------------------------------------------------------------------------


def add_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a + b`."""
    return float(a) + float(b), a_null or b_null


def sub_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a - b`."""
    return float(a) - float(b), a_null or b_null


def mul_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a * b`."""
    return float(a) * float(b), a_null or b_null


def div_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a / b`."""
    return float(a) / (1.0 if b == 0 else float(b)), a_null or b_null or b == 0


def mod_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The remainder, which has the sign of the dividend."""
    missing = a_null or b_null or b == 0
    return (math.nan if missing or math.isinf(a) else np.fmod(a, b)), missing


def neg_float64(a: Number, a_null: bool) -> Result:
    """`-a`."""
    return -a, a_null


def abs_float64(a: Number, a_null: bool) -> Result:
    """The absolute value."""
    return abs(a), a_null


def float32(a: Number, a_null: bool) -> Result:
    """A number with the digits that FLOAT has."""
    return float(np.float32(a)), a_null


def add_float32(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a + b` in FLOAT."""
    return float(np.float32(float(a) + float(b))), a_null or b_null


def sub_float32(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a - b` in FLOAT."""
    return float(np.float32(float(a) - float(b))), a_null or b_null


def mul_float32(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a * b` in FLOAT."""
    return float(np.float32(float(a) * float(b))), a_null or b_null


neg_float32, abs_float32 = neg_float64, abs_float64


def sqrt(a: Number, a_null: bool) -> Result:
    """The square root; NaN of a negative number."""
    return (math.nan if a < 0 else math.sqrt(a)), a_null


def ln(a: Number, a_null: bool) -> Result:
    """The natural logarithm; NULL of what has none."""
    return (0.0 if a <= 0 else math.log(a)), a_null or a <= 0


def log10(a: Number, a_null: bool) -> Result:
    """The decimal logarithm."""
    return (0.0 if a <= 0 else math.log10(a)), a_null or a <= 0


def sign(a: Number, a_null: bool) -> Result:
    """-1.0, 0.0 or 1.0."""
    return (math.copysign(1.0, a) if a != 0 else 0.0), a_null


def floor(a: Number, a_null: bool) -> Result:
    """The greatest whole number that is not greater."""
    if math.isnan(a):
        return 0, a_null
    if a >= _ABOVE or a <= -_ABOVE:
        return (_HIGHEST if a > 0 else _LOWEST), a_null
    return math.floor(a), a_null


def ceil(a: Number, a_null: bool) -> Result:
    """The smallest whole number that is not smaller."""
    if math.isnan(a):
        return 0, a_null
    if a >= _ABOVE or a <= -_ABOVE:
        return (_HIGHEST if a > 0 else _LOWEST), a_null
    return math.ceil(a), a_null


def is_nan(a: Number, a_null: bool) -> Result:
    """Whether it is NaN; FALSE for NULL."""
    return not a_null and math.isnan(a), False


# Only NaN differs from itself.
# ruff: noqa: PLR0124
# -- comparisons -------------------------------------------------------------------------------------------


def eq(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a = b`."""
    return a == b or (a != a and b != b), a_null or b_null


def ne(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <> b`."""
    return not (a == b or (a != a and b != b)), a_null or b_null


def lt(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a < b`."""
    return a < b or (b != b and a == a), a_null or b_null


def le(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <= b`."""
    return a <= b or b != b, a_null or b_null


def gt(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a > b`."""
    return b < a or (a != a and b == b), a_null or b_null


def ge(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a >= b`."""
    return b <= a or a != a, a_null or b_null


def same(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <=> b`: NULL is the same as NULL."""
    if a_null or b_null:
        return a_null and b_null, False
    return a == b or (a != a and b != b), False


def greatest(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The greater that is not NULL, the first of equal ones."""
    second = not b_null and (a_null or a < b or (b != b and a == a))
    return (b if second else a), a_null and b_null


def least(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The smaller that is not NULL, the first of equal ones."""
    second = not b_null and (a_null or b < a or (a != a and b == b))
    return (b if second else a), a_null and b_null


def coalesce(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The first that is not NULL."""
    return (b if a_null else a), a_null and b_null


def nullif(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a`, but NULL where it equals `b`."""
    return a, a_null or (not b_null and (a == b or (a != a and b != b)))


# -- truths ------------------------------------------------------------------------------------------------


def both(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a AND b` of three values."""
    no = (not a_null and not a) or (not b_null and not b)
    return not no, not no and (a_null or b_null)


def either(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a OR b` of three values."""
    yes = (not a_null and a) or (not b_null and b)
    return yes, not yes and (a_null or b_null)


def negated(a: Number, a_null: bool) -> Result:
    """`NOT a` of three values."""
    return not a, a_null


# -- casts and times ---------------------------------------------------------------------------------------


def float_to_int(a: Number, a_null: bool, bits: Number, _: bool) -> Result:
    """A number cut to a whole one of so many bits."""
    bound = 2.0 ** (bits - 1)
    whole = np.trunc(a)
    fits = whole >= -bound and whole < bound
    return (int(whole) if fits else 0), a_null or not fits


def int_to_int(a: Number, a_null: bool, bits: Number, _: bool) -> Result:
    """A whole number in so many bits."""
    bound = 1 << (bits - 2)  # half of what is meant, which fits
    return a, a_null or a // 2 < -bound or a // 2 >= bound


def to_float(a: Number, a_null: bool) -> Result:
    """A whole number or a truth as a binary fraction."""
    return float(a), a_null


def to_bool(a: Number, a_null: bool) -> Result:
    """A number as a truth."""
    return a != 0, a_null


def bool_to_int(a: Number, a_null: bool) -> Result:
    """1 or 0."""
    return (1 if a else 0), a_null


def day_of(timestamp: Number, timestamp_null: bool) -> Result:
    """The date of a time stamp."""
    return timestamp // DAY, timestamp_null


def hour(timestamp: Number, timestamp_null: bool) -> Result:
    """The hour of the day."""
    return timestamp % DAY // _HOUR, timestamp_null


def minute(timestamp: Number, timestamp_null: bool) -> Result:
    """The minute of the hour."""
    return timestamp % _HOUR // _MINUTE, timestamp_null


def second(timestamp: Number, timestamp_null: bool) -> Result:
    """The second of the minute."""
    return timestamp % _MINUTE // SECOND, timestamp_null


def unix_seconds(timestamp: Number, timestamp_null: bool) -> Result:
    """Seconds since 1970."""
    return timestamp // SECOND, timestamp_null


def unix_millis(timestamp: Number, timestamp_null: bool) -> Result:
    """Milliseconds since 1970."""
    return timestamp // 1000, timestamp_null


def unix_micros(timestamp: Number, timestamp_null: bool) -> Result:
    """Microseconds since 1970."""
    return timestamp, timestamp_null


def _found() -> dict[str, Callable[..., Result]]:
    plain = {
        name: value
        for name, value in globals().items()
        if callable(value) and getattr(value, "__module__", "") == __name__ and not name.startswith("_")
    }
    return {**_whole(8), **_whole(16), **_whole(32), **plain}


FUNCTIONS = _found()
"""The functions that kernels can call, by the names that bodies call them by; two stand for `to_int`."""

FOLDED = frozenset(["greatest", "least", "coalesce"])
"""Those that take any number of arguments, two at a time."""
