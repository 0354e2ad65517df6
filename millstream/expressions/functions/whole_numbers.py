"""Arithmetic on whole numbers: NULL where a result does not fit its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.values import Values, as_arrays, as_numpy
from millstream.expressions.functions.function import SAME, WHOLE, Function, Maybe, Number, Result, plain
from millstream.expressions.tree import Call, Type
from millstream.expressions.written import (
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    PRODUCT,
    SIGN,
    SUM,
    Text,
    Writing,
    called,
    infix,
    prefix,
    tried,
)

HIGHEST, LOWEST = 2**63 - 1, -(2**63)


def python_forms(bits: int) -> tuple[Callable[..., Maybe], ...]:
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


def kernel_forms(bits: int) -> tuple[Callable[..., Result], ...]:
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

    return add, sub, mul, neg, absolute


def kernel_add_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a + b`."""
    over = a > HIGHEST - b if b > 0 else a < LOWEST - b
    return (0 if over else a + b), a_null or b_null or over


def kernel_sub_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a - b`."""
    over = a > HIGHEST + b if b < 0 else a < LOWEST + b
    return (0 if over else a - b), a_null or b_null or over


def kernel_mul_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a * b`."""
    if a == 0 or b == 0:
        return 0, a_null or b_null
    if a == -1 or b == -1:
        other = b if a == -1 else a
        return (0 if other == LOWEST else -other), a_null or b_null or other == LOWEST
    # Divisions, since the product itself might not fit; none of them is by 0 or -1.
    if a > 0 and b > 0:
        over = a > HIGHEST // b
    elif a < 0 and b < 0:
        over = LOWEST in (a, b) or -a > HIGHEST // -b
    else:
        positive, negative = max(a, b), min(a, b)
        over = negative < LOWEST // positive + (1 if LOWEST % positive != 0 else 0)
    return (0 if over else a * b), a_null or b_null or over


def kernel_neg_int64(a: Number, a_null: bool) -> Result:
    """`-a`."""
    return (0 if a == LOWEST else -a), a_null or a == LOWEST


def kernel_abs_int64(a: Number, a_null: bool) -> Result:
    """The absolute value."""
    return (0 if a == LOWEST else abs(a)), a_null or a == LOWEST


def bit_and(a: Maybe, b: Maybe) -> Maybe:
    """`a & b`."""
    return None if a is None or b is None else a & b


def kernel_bit_and(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a & b`."""
    return a & b, a_null or b_null


def bit_or(a: Maybe, b: Maybe) -> Maybe:
    """`a | b`."""
    return None if a is None or b is None else a | b


def kernel_bit_or(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a | b`."""
    return a | b, a_null or b_null


def bit_xor(a: Maybe, b: Maybe) -> Maybe:
    """`a ^ b`."""
    return None if a is None or b is None else a ^ b


def kernel_bit_xor(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a ^ b`."""
    return a ^ b, a_null or b_null


def bit_not(a: Maybe) -> Maybe:
    """`~a`."""
    return None if a is None else ~a


def kernel_bit_not(a: Number, a_null: bool) -> Result:
    """`~a`."""
    return ~a, a_null


def arrow_add(left: Values, right: Values) -> Values:
    """`left + right` for two whole or floating-point numbers of one type; too great a number becomes NULL.

    >>> arrow_add(pa.array([1, 2**31 - 1], pa.int32()), pa.scalar(1, pa.int32())).to_pylist()
    [2, None]
    """
    return _checked(pc.add, pc.add_checked, left, right)


def arrow_subtract(left: Values, right: Values) -> Values:
    """`left - right`."""
    return _checked(pc.subtract, pc.subtract_checked, left, right)


def arrow_multiply(left: Values, right: Values) -> Values:
    """`left * right`."""
    return _checked(pc.multiply, pc.multiply_checked, left, right)


def arrow_negate(value: Values) -> Values:
    """`-value`; the least number has no negative."""
    return arrow_subtract(pa.scalar(0, value.type), value)


def arrow_absolute(value: Values) -> Values:
    """`abs(value)`: NULL for the least number."""
    return pc.if_else(pc.less(value, pa.scalar(0, value.type)), arrow_negate(value), value)


def _checked(plain: Callable[..., Any], checked: Callable[..., Any], left: Values, right: Values) -> Values:
    if not pt.is_integer(left.type):
        return plain(left, right)
    try:
        return checked(left, right)
    except pa.ArrowInvalid:  # some number is too great: look which
        left, right = as_arrays(left, right)
        wrapped = plain(left, right)
        fits = _fits(plain, as_numpy(left), as_numpy(right), as_numpy(wrapped))
        return pc.if_else(pa.array(fits), wrapped, pa.scalar(None, wrapped.type))


def _fits(plain: Callable[..., Any], a: Any, b: Any, wrapped: Any) -> Any:
    """Where a result that wraps around is right all the same."""
    if plain is pc.add:
        return ((a ^ wrapped) & (b ^ wrapped)) >= 0
    if plain is pc.subtract:
        return ((a ^ b) & (a ^ wrapped)) >= 0
    least = np.iinfo(a.dtype).min
    with np.errstate(all="ignore"):
        undone = wrapped // np.where(a == 0, a.dtype.type(1), a) == b
    return (a == 0) | (undone & ~((a == -1) & (b == least)))


_SIGNS = {
    "add": (infix("+", SUM), tried("TRY_ADD", infix("+", SUM))),
    "sub": (infix("-", SUM), tried("TRY_SUBTRACT", infix("-", SUM))),
    "mul": (infix("*", PRODUCT), tried("TRY_MULTIPLY", infix("*", PRODUCT))),
    "neg": (
        prefix("-", SIGN),
        Writing("- a", lambda call, parts: Text(f"TRY_SUBTRACT({_zero(call)}, {parts[0].text})")),
    ),
    "abs": (called("ABS"), Writing("ABS", lambda call, parts: Text(f"NULLIF(ABS({parts[0].text}), {_least(call)})"))),
}
"""How each is written: for readers, and for Spark, where it would wrap around in silence."""

_SUFFIXES = {"int8": "Y", "int16": "S", "int64": "L"}


def _zero(call: Call) -> str:
    return f"0{_SUFFIXES.get(call.type.name, '')}"


def _least(call: Call) -> str:
    """The number that is its own opposite."""
    return f"-{2 ** (int(call.type.name.removeprefix('int')) - 1)}{_SUFFIXES.get(call.type.name, '')}"


def _if_whole(plain: Writing, guarded: Writing) -> Writing:
    """Of intervals, which are whole numbers here, the plain form."""
    return Writing(plain.name, lambda call, parts: (guarded if call.type.is_whole else plain).write(call, parts))


def _functions() -> Iterator[Function]:
    of_64: tuple[Callable[..., Result], ...] = (
        kernel_add_int64,
        kernel_sub_int64,
        kernel_mul_int64,
        kernel_neg_int64,
        kernel_abs_int64,
    )
    for bits in (8, 16, 32, 64):
        type_ = Type(f"int{bits}")
        kernels = of_64 if bits == 64 else kernel_forms(bits)
        arrows = [plain(f) for f in (arrow_add, arrow_subtract, arrow_multiply, arrow_negate, arrow_absolute)]
        names = ("add", "sub", "mul", "neg", "abs")
        for name, python, kernel, arrow in zip(names, python_forms(bits), kernels, arrows, strict=True):
            arguments = (type_,) if name in {"neg", "abs"} else (type_, type_)
            words, spark = _SIGNS[name]
            guarded = _if_whole(words, spark)
            yield Function(f"{name}_{type_}", arguments, type_, python, kernel, arrow, written=words, spark=guarded)


FUNCTIONS = (
    *_functions(),
    Function(
        "bit_and", (WHOLE, WHOLE), SAME, bit_and, kernel_bit_and, plain(pc.bit_wise_and), written=infix("&", BIT_AND)
    ),
    Function("bit_or", (WHOLE, WHOLE), SAME, bit_or, kernel_bit_or, plain(pc.bit_wise_or), written=infix("|", BIT_OR)),
    Function(
        "bit_xor", (WHOLE, WHOLE), SAME, bit_xor, kernel_bit_xor, plain(pc.bit_wise_xor), written=infix("^", BIT_XOR)
    ),
    Function("bit_not", (WHOLE,), SAME, bit_not, kernel_bit_not, plain(pc.bit_wise_not), written=prefix("~", SIGN)),
)
