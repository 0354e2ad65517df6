"""Comparisons, IN, and IS DISTINCT FROM: NaN equals NaN and is greater than every other number."""

from __future__ import annotations

from typing import Any

from millstream.expressions.functions.function import ANY, Function, Maybe, Number, Result
from millstream.expressions.tree import BOOL

# Only NaN differs from itself, and asking for that costs less than a call.
# ruff: noqa: PLR0124


def eq(a: Maybe, b: Maybe) -> Maybe:
    """`a = b`."""
    return None if a is None or b is None else a == b or (a != a and b != b)


def kernel_eq(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a = b`."""
    return a == b or (a != a and b != b), a_null or b_null


def ne(a: Maybe, b: Maybe) -> Maybe:
    """`a <> b`."""
    same = eq(a, b)
    return None if same is None else not same


def kernel_ne(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <> b`."""
    return not (a == b or (a != a and b != b)), a_null or b_null


def lt(a: Maybe, b: Maybe) -> Maybe:
    """`a < b`."""
    return None if a is None or b is None else a < b or (b != b and a == a)


def kernel_lt(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a < b`."""
    return a < b or (b != b and a == a), a_null or b_null


def le(a: Maybe, b: Maybe) -> Maybe:
    """`a <= b`."""
    return None if a is None or b is None else a <= b or b != b


def kernel_le(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <= b`."""
    return a <= b or b != b, a_null or b_null


def gt(a: Maybe, b: Maybe) -> Maybe:
    """`a > b`."""
    return lt(b, a)


def kernel_gt(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a > b`."""
    return b < a or (a != a and b == b), a_null or b_null


def ge(a: Maybe, b: Maybe) -> Maybe:
    """`a >= b`."""
    return le(b, a)


def kernel_ge(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a >= b`."""
    return b <= a or a != a, a_null or b_null


def same(a: Maybe, b: Maybe) -> bool:
    """`a <=> b`: NULL is the same as NULL."""
    return b is None if a is None else bool(eq(a, b))


def kernel_same(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <=> b`: NULL is the same as NULL."""
    if a_null or b_null:
        return a_null and b_null, False
    return a == b or (a != a and b != b), False


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


FUNCTIONS = (
    Function("eq", (ANY, ANY), BOOL, eq, kernel_eq),
    Function("ne", (ANY, ANY), BOOL, ne, kernel_ne),
    Function("lt", (ANY, ANY), BOOL, lt, kernel_lt),
    Function("le", (ANY, ANY), BOOL, le, kernel_le),
    Function("gt", (ANY, ANY), BOOL, gt, kernel_gt),
    Function("ge", (ANY, ANY), BOOL, ge, kernel_ge),
    Function("same", (ANY, ANY), BOOL, same, kernel_same, strict=False),
    Function("one_of", (ANY, ANY), BOOL, one_of, many=True, strict=False),
)
