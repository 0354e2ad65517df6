"""Roots, powers, logarithms and angles, on DOUBLE."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from millstream.expressions.functions import strict_math
from millstream.expressions.functions.function import Function, Maybe, Number, Result
from millstream.expressions.functions.strict_math import LN2
from millstream.expressions.functions.strict_math import exp as exp_of
from millstream.expressions.functions.strict_math import log as log_of
from millstream.expressions.functions.strict_math import log10 as log10_of
from millstream.expressions.tree import FLOAT64


def sqrt(a: Maybe) -> Maybe:
    """The square root; NaN of a negative number."""
    return None if a is None else math.nan if a < 0 else math.sqrt(a)


def kernel_sqrt(a: Number, a_null: bool) -> Result:
    """The square root; NaN of a negative number."""
    return (math.nan if a < 0 else math.sqrt(a)), a_null


def power(a: Maybe, b: Maybe) -> Maybe:
    """`a` to the power of `b`."""
    return None if a is None or b is None else strict_math.power(a, b)


def exp(a: Maybe) -> Maybe:
    """The number e to the power of `a`."""
    return None if a is None else exp_of(a)


def kernel_exp(a: Number, a_null: bool) -> Result:
    """The number e to the power of `a`."""
    return exp_of(a), a_null


def ln(a: Maybe) -> Maybe:
    """The natural logarithm; NULL of what has none."""
    return None if a is None or a <= 0 else log_of(a)


def kernel_ln(a: Number, a_null: bool) -> Result:
    """The natural logarithm; NULL of what has none."""
    return (0.0 if a <= 0 else log_of(a)), a_null or a <= 0


def log10(a: Maybe) -> Maybe:
    """The decimal logarithm."""
    return None if a is None or a <= 0 else log10_of(a)


def kernel_log10(a: Number, a_null: bool) -> Result:
    """The decimal logarithm."""
    return (0.0 if a <= 0 else log10_of(a)), a_null or a <= 0


def log2(a: Maybe) -> Maybe:
    """The binary logarithm."""
    return None if a is None or a <= 0 else log_of(a) / LN2


def log(base: Maybe, a: Maybe) -> Maybe:
    """The logarithm to a base."""
    if base is None or a is None or base <= 0 or a <= 0:
        return None
    above, below = log_of(a), log_of(base)
    if below:
        return above / below
    return math.nan if above == 0 or math.isnan(above) else math.copysign(math.inf, above)


def _wave(function: Callable[[float], float]) -> Callable[[Maybe], Maybe]:
    def of(a: Maybe) -> Maybe:
        return None if a is None else math.nan if math.isinf(a) else function(a)

    return of


# Java leaves the last bit of these to the machine.
sin, cos, tan = _wave(math.sin), _wave(math.cos), _wave(math.tan)


def atan(a: Maybe) -> Maybe:
    """The angle of a tangent."""
    return None if a is None else strict_math.atan(a)


def sign(a: Maybe) -> Maybe:
    """-1.0 or 1.0; a zero and NaN are their own."""
    return math.copysign(1.0, a) if a is not None and (a < 0 or a > 0) else a


def kernel_sign(a: Number, a_null: bool) -> Result:
    """-1.0 or 1.0; a zero and NaN are their own."""
    return (math.copysign(1.0, a) if a < 0 or a > 0 else a), a_null


HELPERS: dict[str, Callable[..., Any]] = {"log_of": log_of, "log10_of": log10_of, "exp_of": exp_of}
"""What forms for kernels call: compiled too, in this order."""

FUNCTIONS = (
    Function("sqrt", (FLOAT64,), FLOAT64, sqrt, kernel_sqrt, sql=("sqrt",)),
    Function("power", (FLOAT64, FLOAT64), FLOAT64, power, sql=("power", "pow")),
    Function("exp", (FLOAT64,), FLOAT64, exp, kernel_exp, sql=("exp",)),
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
