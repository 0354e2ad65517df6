"""Quotients and remainders: NULL where the divisor is zero; a remainder has the sign of the dividend."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_DOWN, Context

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.values import Values, as_arrays, as_numpy, not_zero, valid_only
from millstream.expressions.functions.floats import float32
from millstream.expressions.functions.function import DECIMAL, SAME, WHOLE, Function, Maybe, Number, Result, plain
from millstream.expressions.functions.whole_numbers import LOWEST
from millstream.expressions.tree import FLOAT32, FLOAT64, INT32, INT64
from millstream.expressions.written import PRODUCT, called, infix


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
    """The remainder, moved once into the range of the divisor.

    >>> pmod_int(-7, 3), pmod_int(-7, -3), pmod_int(7, -3)
    (2, -1, 1)
    """
    rest = mod_int(a, b)
    return mod_int(rest + b, b) if rest is not None and rest < 0 else rest


def kernel_pmod_int(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The remainder, moved once into the range of the divisor."""
    if b in (0, -1):
        return 0, a_null or b_null or b == 0
    rest = a % b
    return (rest - b if b < 0 and rest != 0 and a > 0 else rest), a_null or b_null


def _pmod(low: int) -> tuple[Callable[..., Maybe], Callable[..., Result]]:
    """The same for a type with this least number, where the sum of remainder and divisor wraps around, as in Spark."""

    def pmod(a: Maybe, b: Maybe) -> Maybe:
        rest = mod_int(a, b)
        if rest is None or rest >= 0:
            return rest
        return mod_int(rest + b if rest + b >= low else rest + b - 2 * low, b)

    def kernel_pmod(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
        if b in (0, -1):
            return 0, a_null or b_null or b == 0
        rest = a % b
        if b > 0 or rest == 0:
            return rest, a_null or b_null
        rest = rest - b if a > 0 else rest  # as the remainder of Java, which has the sign of the dividend
        if rest > 0 or rest >= low - b:
            return rest, a_null or b_null
        moved = ((rest - low) + (b - low)) % b
        return (moved - b if moved != 0 else moved), a_null or b_null

    return pmod, kernel_pmod


def div_int64(a: Maybe, b: Maybe) -> Maybe:
    """The whole part of a quotient, cut towards zero; as in Spark, that of the least number and -1 wraps around.

    >>> div_int64(-7, 2), div_int64(7, 0), div_int64(-(2**63), -1)
    (-3, None, -9223372036854775808)
    """
    if a is None or not b:
        return None
    quotient = abs(a) // abs(b)
    quotient = -quotient if (a < 0) != (b < 0) else quotient
    return quotient if quotient < 2**63 else LOWEST


def kernel_div_int64(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The whole part of a quotient, cut towards zero."""
    if b == 0:
        return 0, True
    if b == -1:
        return (LOWEST if a == LOWEST else -a), a_null or b_null
    quotient = a // b
    return (quotient + 1 if quotient < 0 and quotient * b != a else quotient), a_null or b_null


def div_whole(a: Maybe, b: Maybe) -> Maybe:
    """The whole part of a quotient of decimals; as in Spark, one that has no room in a BIGINT wraps around.

    >>> from decimal import Decimal
    >>> div_whole(Decimal("7.5"), Decimal("-2")), div_whole(Decimal(2**64 + 3), Decimal(1))
    (-3, 3)
    """
    if a is None or not b:
        return None
    quotient = int(Context(prec=120, rounding=ROUND_DOWN).divide_int(a, b))
    return (quotient + 2**63) % 2**64 - 2**63


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


_pmod_int32, _kernel_pmod_int32 = _pmod(-(2**31))
_pmod_int64, _kernel_pmod_int64 = _pmod(LOWEST)


def arrow_divide(left: Values, right: Values) -> Values:
    """`left / right` for DOUBLE; NULL where the divisor is zero."""
    return pc.divide(left, not_zero(right))


def arrow_remainder(left: Values, right: Values) -> Values:
    """`left % right`: it has the sign of the left side, and is NULL where the divisor is zero."""
    left, right = as_arrays(left, not_zero(right))
    valid = pc.and_(pc.is_valid(left), pc.is_valid(right))
    a, b = as_numpy(left), as_numpy(right, 1)
    if b.dtype.kind == "i":
        b = np.where(b == -1, b.dtype.type(1), b)  # the remainder is 0, and the least number does not overflow
    with np.errstate(all="ignore"):
        return valid_only(np.fmod(a, b), valid, left.type)


def arrow_whole_divide(left: Values, right: Values) -> Values:
    """`left DIV right` for BIGINT: the quotient without its fraction; NULL where the divisor is zero.

    >>> arrow_whole_divide(pa.array([7, -7, 1, -(2**63)]), pa.array([2, 2, 0, -1])).to_pylist()
    [3, -3, None, -9223372036854775808]
    """
    found = pc.divide(left, not_zero(right))
    minus = pc.equal(right, pa.scalar(-1, right.type))
    if pc.any(pc.fill_null(pa.array([minus.as_py()]) if isinstance(minus, pa.Scalar) else minus, False)).as_py():
        found = pc.if_else(minus, pc.negate(left), found)  # Arrow has 0 for the least number
    return found


def arrow_positive_remainder(left: Values, right: Values) -> Values:
    """`pmod(left, right)`: the remainder, moved into the range of the divisor if it is negative.

    >>> arrow_positive_remainder(pa.array([7, -7, None]), pa.scalar(3)).to_pylist()
    [1, 2, None]
    """
    if isinstance(right, pa.Scalar) and pt.is_integer(right.type) and (right.as_py() or 0) > 0:
        return valid_only(np.remainder(as_numpy(left), right.as_py()), pc.is_valid(left), left.type)
    if pt.is_integer(left.type) and left.type.bit_width < 32:  # Java computes with INT
        wide = arrow_positive_remainder(left.cast(pa.int32()), right.cast(pa.int32()))
        return wide.cast(left.type)
    rest = arrow_remainder(left, right)
    negative = pc.less(rest, pa.scalar(0, rest.type))
    return pc.if_else(negative, arrow_remainder(pc.add(rest, right), right), rest)


def pmod_float64(a: Maybe, b: Maybe) -> Maybe:
    """The remainder, made positive."""
    rest = mod_float64(a, b)
    return mod_float64(rest + b, b) if rest is not None and rest < 0 else rest


def pmod_float32(a: Maybe, b: Maybe) -> Maybe:
    """The remainder in FLOAT, made positive."""
    rest = mod_float32(a, b)
    return mod_float32(float32(rest + b), b) if rest is not None and rest < 0 else rest


_OVER, _DIV, _REST = infix("/", PRODUCT), infix("DIV", PRODUCT), infix("%", PRODUCT)
_PMOD = called("PMOD")

FUNCTIONS = (
    Function("mod_int", (WHOLE, WHOLE), SAME, mod_int, kernel_mod_int, arrow=plain(arrow_remainder), written=_REST),
    Function(
        "pmod_int",
        (WHOLE, WHOLE),
        SAME,
        pmod_int,
        kernel_pmod_int,
        arrow=plain(arrow_positive_remainder),
        written=_PMOD,
    ),
    Function(
        "pmod_int32",
        (INT32, INT32),
        INT32,
        _pmod_int32,
        _kernel_pmod_int32,
        plain(arrow_positive_remainder),
        written=_PMOD,
    ),
    Function(
        "pmod_int64",
        (INT64, INT64),
        INT64,
        _pmod_int64,
        _kernel_pmod_int64,
        plain(arrow_positive_remainder),
        written=_PMOD,
    ),
    Function(
        "pmod_float64", (FLOAT64, FLOAT64), FLOAT64, pmod_float64, arrow=plain(arrow_positive_remainder), written=_PMOD
    ),
    Function(
        "pmod_float32", (FLOAT32, FLOAT32), FLOAT32, pmod_float32, arrow=plain(arrow_positive_remainder), written=_PMOD
    ),
    Function(
        "div_int64", (INT64, INT64), INT64, div_int64, kernel_div_int64, arrow=plain(arrow_whole_divide), written=_DIV
    ),
    Function("div_whole", (DECIMAL, DECIMAL), INT64, div_whole, written=_DIV),
    Function(
        "div_float64",
        (FLOAT64, FLOAT64),
        FLOAT64,
        div_float64,
        kernel_div_float64,
        arrow=plain(arrow_divide),
        written=_OVER,
    ),
    Function(
        "mod_float64",
        (FLOAT64, FLOAT64),
        FLOAT64,
        mod_float64,
        kernel_mod_float64,
        arrow=plain(arrow_remainder),
        written=_REST,
    ),
    Function("mod_float32", (FLOAT32, FLOAT32), FLOAT32, mod_float32, arrow=plain(arrow_remainder), written=_REST),
)
