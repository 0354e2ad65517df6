"""Arithmetic on decimals: rounded half up to the digits of the result, NULL where it has too many."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

from millstream.expressions.functions.function import DECIMAL, DIGITS, SAME, Function, Maybe

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
        fitted = Decimal(a).quantize(Decimal(1).scaleb(-scale), context=EXACT)
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
    return None if a is None else a.copy_negate()


def abs_decimal(a: Maybe) -> Maybe:
    """The absolute value."""
    return None if a is None else a.copy_abs()


FUNCTIONS = (
    Function("decimal", (DECIMAL, DIGITS, DIGITS), DECIMAL, decimal),
    Function("add_decimal", (DECIMAL, DECIMAL, DIGITS, DIGITS), DECIMAL, add_decimal),
    Function("sub_decimal", (DECIMAL, DECIMAL, DIGITS, DIGITS), DECIMAL, sub_decimal),
    Function("mul_decimal", (DECIMAL, DECIMAL, DIGITS, DIGITS), DECIMAL, mul_decimal),
    Function("div_decimal", (DECIMAL, DECIMAL, DIGITS, DIGITS), DECIMAL, div_decimal),
    Function("mod_decimal", (DECIMAL, DECIMAL, DIGITS, DIGITS), DECIMAL, mod_decimal),
    Function("neg_decimal", (DECIMAL,), SAME, neg_decimal),
    Function("abs_decimal", (DECIMAL,), SAME, abs_decimal),
)
