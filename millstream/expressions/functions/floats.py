"""Arithmetic on FLOAT and DOUBLE; FLOAT is computed in 64 bits and rounded."""

from __future__ import annotations

import math
from ctypes import c_float

import numpy as np
import pyarrow.compute as pc

from millstream.expressions.arrow.values import Values
from millstream.expressions.functions.function import Function, Maybe, Number, Result, plain
from millstream.expressions.tree import BOOL, FLOAT32, FLOAT64
from millstream.expressions.written import PRODUCT, SIGN, SUM, called, infix, prefix


def add_float64(a: Maybe, b: Maybe) -> Maybe:
    """`a + b`."""
    return None if a is None or b is None else a + b


def kernel_add_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a + b`."""
    return float(a) + float(b), a_null or b_null


def sub_float64(a: Maybe, b: Maybe) -> Maybe:
    """`a - b`."""
    return None if a is None or b is None else a - b


def kernel_sub_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a - b`."""
    return float(a) - float(b), a_null or b_null


def mul_float64(a: Maybe, b: Maybe) -> Maybe:
    """`a * b`."""
    return None if a is None or b is None else a * b


def kernel_mul_float64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a * b`."""
    return float(a) * float(b), a_null or b_null


def neg_float64(a: Maybe) -> Maybe:
    """`-a`."""
    return None if a is None else -a


def kernel_neg_float64(a: Number, a_null: bool) -> Result:
    """`-a`."""
    return -a, a_null


def abs_float64(a: Maybe) -> Maybe:
    """The absolute value."""
    return None if a is None else abs(a)


def kernel_abs_float64(a: Number, a_null: bool) -> Result:
    """The absolute value."""
    return abs(a), a_null


def float32(a: Maybe) -> Maybe:
    """A number with the digits that FLOAT has.

    >>> float32(0.1), float32(1e300)
    (0.10000000149011612, inf)
    """
    return None if a is None else c_float(a).value


def kernel_float32(a: Number, a_null: bool) -> Result:
    """A number with the digits that FLOAT has."""
    return float(np.float32(a)), a_null


def add_float32(a: Maybe, b: Maybe) -> Maybe:
    """`a + b` in FLOAT."""
    return None if a is None or b is None else c_float(a + b).value


def kernel_add_float32(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a + b` in FLOAT."""
    return float(np.float32(float(a) + float(b))), a_null or b_null


def sub_float32(a: Maybe, b: Maybe) -> Maybe:
    """`a - b` in FLOAT."""
    return None if a is None or b is None else c_float(a - b).value


def kernel_sub_float32(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a - b` in FLOAT."""
    return float(np.float32(float(a) - float(b))), a_null or b_null


def mul_float32(a: Maybe, b: Maybe) -> Maybe:
    """`a * b` in FLOAT."""
    return None if a is None or b is None else c_float(a * b).value


def kernel_mul_float32(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a * b` in FLOAT."""
    return float(np.float32(float(a) * float(b))), a_null or b_null


def is_nan(a: Maybe) -> bool:
    """Whether it is NaN; FALSE for NULL."""
    return a is not None and math.isnan(a)


def kernel_is_nan(a: Number, a_null: bool) -> Result:
    """Whether it is NaN; FALSE for NULL."""
    return not a_null and math.isnan(a), False


def _arrow_is_nan(value: Values) -> Values:
    return pc.fill_null(pc.is_nan(value), False)


_ADD, _SUB, _MUL = infix("+", SUM), infix("-", SUM), infix("*", PRODUCT)
_NEG, _ABS = prefix("-", SIGN), called("ABS")

FUNCTIONS = (
    Function(
        "add_float64", (FLOAT64, FLOAT64), FLOAT64, add_float64, kernel_add_float64, arrow=plain(pc.add), written=_ADD
    ),
    Function(
        "sub_float64",
        (FLOAT64, FLOAT64),
        FLOAT64,
        sub_float64,
        kernel_sub_float64,
        arrow=plain(pc.subtract),
        written=_SUB,
    ),
    Function(
        "mul_float64",
        (FLOAT64, FLOAT64),
        FLOAT64,
        mul_float64,
        kernel_mul_float64,
        arrow=plain(pc.multiply),
        written=_MUL,
    ),
    Function("neg_float64", (FLOAT64,), FLOAT64, neg_float64, kernel_neg_float64, arrow=plain(pc.negate), written=_NEG),
    Function("abs_float64", (FLOAT64,), FLOAT64, abs_float64, kernel_abs_float64, arrow=plain(pc.abs), written=_ABS),
    Function(
        "add_float32", (FLOAT32, FLOAT32), FLOAT32, add_float32, kernel_add_float32, arrow=plain(pc.add), written=_ADD
    ),
    Function(
        "sub_float32",
        (FLOAT32, FLOAT32),
        FLOAT32,
        sub_float32,
        kernel_sub_float32,
        arrow=plain(pc.subtract),
        written=_SUB,
    ),
    Function(
        "mul_float32",
        (FLOAT32, FLOAT32),
        FLOAT32,
        mul_float32,
        kernel_mul_float32,
        arrow=plain(pc.multiply),
        written=_MUL,
    ),
    Function("neg_float32", (FLOAT32,), FLOAT32, neg_float64, kernel_neg_float64, arrow=plain(pc.negate), written=_NEG),
    Function("abs_float32", (FLOAT32,), FLOAT32, abs_float64, kernel_abs_float64, arrow=plain(pc.abs), written=_ABS),
    Function("is_nan", (FLOAT64,), BOOL, is_nan, kernel_is_nan, plain(_arrow_is_nan), sql=("isnan",), strict=False),
)
