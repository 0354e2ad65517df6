"""Quotients and remainders: NULL where the divisor is zero; a remainder has the sign of the dividend."""

from __future__ import annotations

import math

import numpy as np

from millstream.expressions.functions.floats import float32
from millstream.expressions.functions.function import SAME, WHOLE, Function, Maybe, Number, Result
from millstream.expressions.functions.whole_numbers import LOWEST
from millstream.expressions.tree import FLOAT32, FLOAT64, INT64


def mod_int(a: Maybe, b: Maybe) -> Maybe:
    """The remainder, which has the sign of the dividend.

    >>> mod_int(-7, 3), mod_int(7, -3), mod_int(7, 0)
    (-1, 1, None)
    """
    if a is None or not b:
        return None
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def kernel_mod_int(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The remainder, which has the sign of the dividend."""
    if b in (0, -1):
        return 0, a_null or b_null or b == 0
    rest = a % b
    return (rest - b if rest != 0 and (rest < 0) != (a < 0) else rest), a_null or b_null


def pmod_int(a: Maybe, b: Maybe) -> Maybe:
    """The remainder, made positive."""
    rest = mod_int(a, b)
    return mod_int(rest + b, b) if rest is not None and rest < 0 else rest


def kernel_pmod_int(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The remainder, made positive."""
    if b in (0, -1):
        return 0, a_null or b_null or b == 0
    rest = a % b
    return (rest - b if b < 0 and rest != 0 and a > 0 else rest), a_null or b_null


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


def kernel_div_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The whole part of a quotient, cut towards zero."""
    if b == 0:
        return 0, True
    if b == -1:
        return (0 if a == LOWEST else -a), a_null or b_null or a == LOWEST
    quotient = a // b
    return (quotient + 1 if quotient < 0 and quotient * b != a else quotient), a_null or b_null


def div_float64(a: Maybe, b: Maybe) -> Maybe:
    """`a / b`."""
    return None if a is None or not b else a / b


def kernel_div_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a / b`."""
    return float(a) / (1.0 if b == 0 else float(b)), a_null or b_null or b == 0


def mod_float64(a: Maybe, b: Maybe) -> Maybe:
    """The remainder, which has the sign of the dividend."""
    if a is None or not b:
        return None
    return math.nan if math.isinf(a) else math.fmod(a, b)


def kernel_mod_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The remainder, which has the sign of the dividend."""
    missing = a_null or b_null or b == 0
    return (math.nan if missing or math.isinf(a) else np.fmod(a, b)), missing


def mod_float32(a: Maybe, b: Maybe) -> Maybe:
    """The remainder in FLOAT."""
    return float32(mod_float64(a, b))


FUNCTIONS = (
    Function("mod_int", (WHOLE, WHOLE), SAME, mod_int, kernel_mod_int),
    Function("pmod_int", (WHOLE, WHOLE), SAME, pmod_int, kernel_pmod_int),
    Function("div_int64", (INT64, INT64), INT64, div_int64, kernel_div_int64),
    Function("div_float64", (FLOAT64, FLOAT64), FLOAT64, div_float64, kernel_div_float64),
    Function("mod_float64", (FLOAT64, FLOAT64), FLOAT64, mod_float64, kernel_mod_float64),
    Function("mod_float32", (FLOAT32, FLOAT32), FLOAT32, mod_float32),
)
