"""Arithmetic on whole numbers: NULL where a result does not fit its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millstream.expressions.functions.function import SAME, WHOLE, Function, Maybe, Number, Result
from millstream.expressions.tree import Type

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
        for name, python, kernel in zip(("add", "sub", "mul", "neg", "abs"), python_forms(bits), kernels, strict=True):
            arguments = (type_,) if name in {"neg", "abs"} else (type_, type_)
            yield Function(f"{name}_{type_}", arguments, type_, python, kernel)


FUNCTIONS = (
    *_functions(),
    Function("bit_and", (WHOLE, WHOLE), SAME, bit_and, kernel_bit_and),
    Function("bit_or", (WHOLE, WHOLE), SAME, bit_or, kernel_bit_or),
    Function("bit_xor", (WHOLE, WHOLE), SAME, bit_xor, kernel_bit_xor),
    Function("bit_not", (WHOLE,), SAME, bit_not, kernel_bit_not),
)
