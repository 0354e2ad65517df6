"""Roots, powers, logarithms and angles, on DOUBLE."""

from __future__ import annotations

import math
from collections.abc import Callable

from millstream.expressions.functions.function import Function, Maybe, Number, Result
from millstream.expressions.tree import FLOAT64


def sqrt(a: Maybe) -> Maybe:
    """The square root; NaN of a negative number."""
    return None if a is None else math.nan if a < 0 else math.sqrt(a)


def kernel_sqrt(a: Number, a_null: bool) -> Result:
    """The square root; NaN of a negative number."""
    return (math.nan if a < 0 else math.sqrt(a)), a_null


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


def kernel_ln(a: Number, a_null: bool) -> Result:
    """The natural logarithm; NULL of what has none."""
    return (0.0 if a <= 0 else math.log(a)), a_null or a <= 0


def log10(a: Maybe) -> Maybe:
    """The decimal logarithm."""
    return None if a is None or a <= 0 else math.log10(a)


def kernel_log10(a: Number, a_null: bool) -> Result:
    """The decimal logarithm."""
    return (0.0 if a <= 0 else math.log10(a)), a_null or a <= 0


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


def kernel_sign(a: Number, a_null: bool) -> Result:
    """-1.0, 0.0 or 1.0."""
    return (math.copysign(1.0, a) if a != 0 else 0.0), a_null


FUNCTIONS = (
    Function("sqrt", (FLOAT64,), FLOAT64, sqrt, kernel_sqrt, sql=("sqrt",)),
    Function("power", (FLOAT64, FLOAT64), FLOAT64, power, sql=("power", "pow")),
    Function("exp", (FLOAT64,), FLOAT64, exp, sql=("exp",)),
    Function("ln", (FLOAT64,), FLOAT64, ln, kernel_ln, sql=("ln",)),
    Function("log10", (FLOAT64,), FLOAT64, log10, kernel_log10, sql=("log10",)),
    Function("log2", (FLOAT64,), FLOAT64, log2, sql=("log2",)),
    Function("log", (FLOAT64, FLOAT64), FLOAT64, log),
    Function("sin", (FLOAT64,), FLOAT64, sin, sql=("sin",)),
    Function("cos", (FLOAT64,), FLOAT64, cos, sql=("cos",)),
    Function("tan", (FLOAT64,), FLOAT64, tan, sql=("tan",)),
    Function("atan", (FLOAT64,), FLOAT64, atan, sql=("atan",)),
    Function("sign", (FLOAT64,), FLOAT64, sign, kernel_sign, sql=("sign", "signum")),
)
