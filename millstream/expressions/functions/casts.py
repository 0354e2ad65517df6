"""CAST of numbers and truths into each other: what does not fit becomes NULL."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from millstream.expressions.functions.decimals import decimal
from millstream.expressions.functions.function import ANY, DECIMAL, DIGITS, WHOLE, Function, Maybe, Number, Result
from millstream.expressions.tree import BOOL, FLOAT64, INT32, INT64


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


FUNCTIONS = (
    Function("float_to_int", (FLOAT64, DIGITS), INT64, to_int, kernel_float_to_int),
    Function("int_to_int", (WHOLE, DIGITS), INT64, to_int, kernel_int_to_int),
    Function("decimal_to_int", (DECIMAL, DIGITS), INT64, to_int),
    Function("to_float", (ANY,), FLOAT64, to_float, kernel_to_float),
    Function("float_to_decimal", (FLOAT64, DIGITS, DIGITS), DECIMAL, float_to_decimal),
    Function("to_bool", (ANY,), BOOL, to_bool, kernel_to_bool),
    Function("bool_to_int", (BOOL,), INT32, bool_to_int, kernel_bool_to_int),
)
