"""Arithmetic on Arrow arrays of whole and floating-point numbers; decimals have a file of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.values import Values, as_arrays, as_numpy, not_zero, valid_only


def add(left: Values, right: Values) -> Values:
    """`left + right` for two whole or floating-point numbers of one type; too great a number becomes NULL.

    >>> add(pa.array([1, 2**31 - 1], pa.int32()), pa.scalar(1, pa.int32())).to_pylist()
    [2, None]
    """
    return _checked(pc.add, pc.add_checked, left, right)


def subtract(left: Values, right: Values) -> Values:
    """`left - right`."""
    return _checked(pc.subtract, pc.subtract_checked, left, right)


def multiply(left: Values, right: Values) -> Values:
    """`left * right`."""
    return _checked(pc.multiply, pc.multiply_checked, left, right)


def divide(left: Values, right: Values) -> Values:
    """`left / right` for DOUBLE; NULL where the divisor is zero."""
    return pc.divide(left, not_zero(right))


def remainder(left: Values, right: Values) -> Values:
    """`left % right`: it has the sign of the left side, and is NULL where the divisor is zero."""
    left, right = as_arrays(left, not_zero(right))
    valid = pc.and_(pc.is_valid(left), pc.is_valid(right))
    a, b = as_numpy(left), as_numpy(right, 1)
    if b.dtype.kind == "i":
        b = np.where(b == -1, b.dtype.type(1), b)  # the remainder is 0, and the least number does not overflow
    with np.errstate(all="ignore"):
        return valid_only(np.fmod(a, b), valid, left.type)


def whole_divide(left: Values, right: Values) -> Values:
    """`left DIV right` for BIGINT: the quotient without its fraction; NULL where the divisor is zero.

    >>> whole_divide(pa.array([7, -7, 1, -(2**63)]), pa.array([2, 2, 0, -1])).to_pylist()
    [3, -3, None, -9223372036854775808]
    """
    found = pc.divide(left, not_zero(right))
    minus = pc.equal(right, pa.scalar(-1, right.type))
    if pc.any(pc.fill_null(pa.array([minus.as_py()]) if isinstance(minus, pa.Scalar) else minus, False)).as_py():
        found = pc.if_else(minus, pc.negate(left), found)  # Arrow has 0 for the least number
    return found


def positive_remainder(left: Values, right: Values) -> Values:
    """`pmod(left, right)`: the remainder, moved into the range of the divisor if it is negative.

    >>> positive_remainder(pa.array([7, -7, None]), pa.scalar(3)).to_pylist()
    [1, 2, None]
    """
    if isinstance(right, pa.Scalar) and pt.is_integer(right.type) and (right.as_py() or 0) > 0:
        return valid_only(np.remainder(as_numpy(left), right.as_py()), pc.is_valid(left), left.type)
    if pt.is_integer(left.type) and left.type.bit_width < 32:  # Java computes with INT
        wide = positive_remainder(left.cast(pa.int32()), right.cast(pa.int32()))
        return wide.cast(left.type)
    rest = remainder(left, right)
    negative = pc.less(rest, pa.scalar(0, rest.type))
    return pc.if_else(negative, remainder(pc.add(rest, right), right), rest)


def negate(value: Values) -> Values:
    """`-value`; the least whole number has no negative."""
    return subtract(pa.scalar(0, value.type), value) if pt.is_integer(value.type) else pc.negate(value)


def absolute(value: Values) -> Values:
    """`abs(value)`: NULL for the least whole number."""
    return (
        pc.if_else(pc.less(value, pa.scalar(0, value.type)), negate(value), value)
        if pt.is_integer(value.type)
        else pc.abs(value)
    )


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
