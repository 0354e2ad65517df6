"""What conditions compute, on whole Arrow arrays: numbers, texts and times, with Spark's results bit for bit.

Arguments are arrays of equal length, and single values that stand for as many; one argument at least is an array.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

Values = Any
"""An Arrow array, or an Arrow scalar."""

MOST_DIGITS = 38
_WIDEST = 76
"""The digits that an Arrow decimal can have."""

_EXACT_DIGITS = 15
"""Whole numbers of so many digits are exact as DOUBLE, and so are the powers of ten that they are divided by."""

_LONG_DIGITS = 18
_DAY = 86_400_000_000
_HALF_UP = decimal.Context(prec=2 * _WIDEST, rounding=decimal.ROUND_HALF_UP)
_BITS_64 = pa.int64()


# -- comparisons ---------------------------------------------------------------------------------------------


def equal(left: Values, right: Values) -> Values:
    """`left = right`; NaN equals NaN.

    >>> equal(pa.array([float("nan"), 0.0, None]), pa.scalar(float("nan"))).to_pylist()
    [True, False, None]
    """
    same = pc.equal(left, right)
    if _some_nan(left) and _some_nan(right):
        same = pc.or_kleene(same, pc.and_kleene(pc.is_nan(left), pc.is_nan(right)))
    return same


def not_equal(left: Values, right: Values) -> Values:
    """`left <> right`."""
    return pc.invert(equal(left, right))


def less(left: Values, right: Values) -> Values:
    """`left < right`; NaN is greater than every other number."""
    found = pc.less(left, right)
    if _some_nan(right):
        # and_kleene would say FALSE where NaN meets NULL
        found = pc.or_(found, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))
    return found


def less_equal(left: Values, right: Values) -> Values:
    """`left <= right`."""
    return pc.invert(less(right, left))


def greater(left: Values, right: Values) -> Values:
    """`left > right`."""
    return less(right, left)


def greater_equal(left: Values, right: Values) -> Values:
    """`left >= right`."""
    return pc.invert(less(left, right))


def same(left: Values, right: Values) -> Values:
    """`left <=> right`: NULL equals NULL, and the answer is never NULL."""
    return pc.or_(pc.fill_null(equal(left, right), False), pc.and_(pc.is_null(left), pc.is_null(right)))


def not_same(left: Values, right: Values) -> Values:
    """`left IS DISTINCT FROM right`."""
    return pc.invert(same(left, right))


def among(value: Values, wanted: pa.Array, with_null: bool) -> Values:
    """`value IN (...)` for constants other than FLOAT and DOUBLE; with a NULL among them, nothing is FALSE."""
    found = pc.is_in(value, value_set=wanted)
    unknown = pc.invert(found) if with_null else pc.is_null(value)
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)


def _some_nan(value: Values) -> bool:
    return pt.is_floating(value.type) and bool(pc.any(pc.is_nan(_array(value, 1))).as_py())


# -- logic ---------------------------------------------------------------------------------------------------


def is_true(value: Values) -> Values:
    """`value IS TRUE`."""
    return pc.fill_null(value, False)


def is_false(value: Values) -> Values:
    """`value IS FALSE`."""
    return pc.invert(pc.fill_null(value, True))


def choose(condition: Values, value: Values, other: Values) -> Values:
    """The value where the condition holds, else the other one."""
    return pc.if_else(pc.fill_null(condition, False), value, other)


def greatest(found: Values, value: Values) -> Values:
    """The greater one; NULL counts only if both are."""
    return choose(pc.or_(pc.is_null(found), pc.fill_null(greater(value, found), False)), value, found)


def least(found: Values, value: Values) -> Values:
    """The lesser one; NULL counts only if both are."""
    return choose(pc.or_(pc.is_null(found), pc.fill_null(less(value, found), False)), value, found)


# -- whole and floating-point numbers ------------------------------------------------------------------------


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
    return pc.divide(left, _not_zero(right))


def remainder(left: Values, right: Values) -> Values:
    """`left % right`: it has the sign of the left side, and is NULL where the divisor is zero."""
    left, right = _arrays(left, _not_zero(right))
    valid = pc.and_(pc.is_valid(left), pc.is_valid(right))
    a, b = _numpy(left), _numpy(right, 1)
    if b.dtype.kind == "i":
        b = np.where(b == -1, b.dtype.type(1), b)  # the remainder is 0, and the least number does not overflow
    with np.errstate(all="ignore"):
        return _valid_only(np.fmod(a, b), valid, left.type)


def whole_divide(left: Values, right: Values) -> Values:
    """`left DIV right` for BIGINT: the quotient without its fraction; NULL where the divisor is zero.

    >>> whole_divide(pa.array([7, -7, 1, -(2**63)]), pa.array([2, 2, 0, -1])).to_pylist()
    [3, -3, None, -9223372036854775808]
    """
    found = pc.divide(left, _not_zero(right))
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
        return _valid_only(np.remainder(_numpy(left), right.as_py()), pc.is_valid(left), left.type)
    rest = remainder(left, right)
    negative = pc.less(rest, pa.scalar(0, rest.type))
    return pc.if_else(negative, remainder(pc.add(rest, right), right), rest)


def negate(value: Values) -> Values:
    """`-value` for INT and BIGINT, whose least numbers have no negative."""
    return subtract(pa.scalar(0, value.type), value)


def _checked(plain: Callable[..., Any], checked: Callable[..., Any], left: Values, right: Values) -> Values:
    if not pt.is_integer(left.type):
        return plain(left, right)
    try:
        return checked(left, right)
    except pa.ArrowInvalid:  # some number is too great: look which
        left, right = _arrays(left, right)
        wrapped = plain(left, right)
        fits = _fits(plain, _numpy(left), _numpy(right), _numpy(wrapped))
        return pc.if_else(pa.array(fits), wrapped, pa.scalar(None, wrapped.type))


def _fits(plain: Callable[..., Any], a: Any, b: Any, wrapped: Any) -> Any:
    """Where a result that wraps around is right all the same."""
    if plain is pc.add:
        return ((a ^ wrapped) & (b ^ wrapped)) >= 0
    if plain is pc.subtract:
        return ((a ^ b) & (a ^ wrapped)) >= 0
    least_ = np.iinfo(a.dtype).min
    with np.errstate(all="ignore"):
        undone = wrapped // np.where(a == 0, a.dtype.type(1), a) == b
    return (a == 0) | (undone & ~((a == -1) & (b == least_)))


def _not_zero(value: Values) -> Values:
    zero = pa.scalar(decimal.Decimal(0) if pt.is_decimal(value.type) else 0, value.type)
    return pc.if_else(pc.equal(value, zero), pa.scalar(None, value.type), value)


# -- decimals ------------------------------------------------------------------------------------------------


def decimal_add(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left + right` for decimals, in the type of the result."""
    return _decimal(pc.add, left, right, type_)


def decimal_subtract(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left - right`."""
    return _decimal(pc.subtract, left, right, type_)


def decimal_multiply(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left * right`."""
    return _decimal(pc.multiply, left, right, type_)


def decimal_divide(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left / right`; NULL where the divisor is zero."""
    right = _not_zero(right)
    a, b = left.type, right.type
    # Arrow cuts digits off. One more than the result has is enough to round it.
    more = max(0, type_.scale + 1 - (a.scale + b.precision - b.scale + 1))
    digits = a.precision + b.precision + more + 1
    if digits > _WIDEST:
        return _one_by_one(_HALF_UP.divide, left, right, type_)
    sized = pa.decimal128 if digits <= MOST_DIGITS else pa.decimal256
    left = left.cast(sized(a.precision + more, a.scale + more))
    return fit(pc.divide(left, right.cast(sized(b.precision, b.scale))), type_)


def decimal_remainder(left: Values, right: Values, type_: pa.DataType) -> Values:
    """`left % right`; NULL where the divisor is zero."""
    right = _not_zero(right)
    a, b = left.type, right.type
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale
    if precision > _LONG_DIGITS:
        return _one_by_one(_HALF_UP.remainder, left, right, type_)
    both = pa.decimal128(precision, scale)
    left, right = (_unscaled(v.cast(both)) for v in _arrays(left, right))
    whole = remainder(left, right).cast(pa.decimal128(19, 0))
    unit = pa.scalar(decimal.Decimal(1).scaleb(-scale), pa.decimal128(max(scale, 1), scale))
    return fit(pc.multiply(whole, unit), type_)


def _decimal(operation: Callable[..., Any], left: Values, right: Values, type_: pa.DataType) -> Values:
    a, b = left.type, right.type
    if operation is pc.multiply:
        precision = a.precision + b.precision + 1
    else:
        precision = max(a.precision - a.scale, b.precision - b.scale) + max(a.scale, b.scale) + 1
    if precision > _WIDEST:
        names = {pc.add: _HALF_UP.add, pc.subtract: _HALF_UP.subtract, pc.multiply: _HALF_UP.multiply}
        return _one_by_one(names[operation], left, right, type_)
    if precision > MOST_DIGITS:
        left, right = (v.cast(pa.decimal256(v.type.precision, v.type.scale)) for v in (left, right))
    return fit(operation(left, right), type_)


def _one_by_one(operation: Callable[..., Any], left: Values, right: Values, type_: pa.DataType) -> Values:
    """For results of more digits than Arrow can hold before they are rounded."""
    pairs = zip(*(v.to_pylist() for v in _arrays(left, right)), strict=True)
    return _rounded([None if a is None or b is None else operation(a, b) for a, b in pairs], type_)


def _rounded(values: list[decimal.Decimal | None], type_: pa.DataType) -> pa.Array:
    unit, limit = decimal.Decimal(1).scaleb(-type_.scale), decimal.Decimal(1).scaleb(type_.precision - type_.scale)
    found = [None if v is None or abs(v) > limit else _HALF_UP.quantize(v, unit) for v in values]
    return pa.array([None if v is None or abs(v) >= limit else v for v in found], type_)


def fit(value: Values, type_: pa.DataType) -> Values:
    """A decimal in another decimal type: rounded half up, NULL if it has too many digits before the point.

    >>> fit(pa.array([decimal.Decimal("9.94"), decimal.Decimal("-9.95")]), pa.decimal128(2, 1)).to_pylist()
    [Decimal('9.9'), None]
    """
    from_ = value.type
    if from_ == type_:
        return value
    whole, digits = from_.precision - from_.scale, max(from_.precision, type_.precision) + 1
    if from_.scale > type_.scale:
        value = pc.round(value.cast(_wide(digits, from_.scale)), type_.scale, "half_towards_infinity")
        value = value.cast(_wide(digits, type_.scale))
        whole += 1
    if whole > type_.precision - type_.scale:
        value = value.cast(_wide(digits, value.type.scale))
        limit = pa.scalar(decimal.Decimal(1).scaleb(type_.precision - type_.scale), value.type)
        value = pc.if_else(pc.less(pc.abs(value), limit), value, pa.scalar(None, value.type))
    return value.cast(type_)


def _wide(digits: int, scale: int) -> pa.DataType:
    """A type that has room for so many digits, and some to spare; the smaller one is much faster."""
    return pa.decimal128(MOST_DIGITS, scale) if digits <= MOST_DIGITS else pa.decimal256(_WIDEST, scale)


def _unscaled(column: pa.Array) -> pa.Array:
    """Decimals of no more than 18 digits as whole numbers, without regard to the point."""
    halves = np.frombuffer(column.buffers()[1] or b"", np.int64)[2 * column.offset :][: 2 * len(column) : 2]
    return pa.array(halves, mask=pc.is_null(column).to_numpy(zero_copy_only=False))


# -- casts ---------------------------------------------------------------------------------------------------


def convert(value: Values, type_: pa.DataType) -> Values:
    """A value in another type; NULL where it does not fit, as TRY_CAST has it.

    >>> convert(pa.array([1.9, -1.9, 1e10, float("nan")]), pa.int32()).to_pylist()
    [1, -1, None, None]
    """
    from_ = value.type
    if from_ == type_:
        return value
    if pt.is_temporal(type_):
        return _time(value, type_)
    if pt.is_decimal(from_):
        return _of_decimal(value, type_)
    if pt.is_decimal(type_):
        if pt.is_integer(from_):
            return fit(value.cast(_BITS_64).cast(pa.decimal128(19, 0)), type_)
        # Spark, too, takes the digits that a number is written with.
        return _rounded([_digits(v) for v in value.to_pylist()], type_)
    if pt.is_integer(type_):
        return _whole(value, type_)
    return value.cast(type_, safe=False)


def _digits(value: float | None) -> decimal.Decimal | None:
    return decimal.Decimal(repr(value)) if value is not None and np.isfinite(value) else None


def _of_decimal(value: pa.Array, type_: pa.DataType) -> pa.Array:
    from_ = value.type
    if pt.is_decimal(type_):
        return fit(value, type_)
    if pt.is_float64(type_) and from_.precision <= _EXACT_DIGITS:
        return pc.divide(_unscaled(value).cast(type_), pa.scalar(float(10**from_.scale)))
    if pt.is_floating(type_):
        return value.cast(pa.string()).cast(type_)
    # Arrow refuses to cut off all the digits that a type has.
    whole = pc.trunc(value.cast(pa.decimal256(_WIDEST, from_.scale))).cast(pa.decimal128(MOST_DIGITS, 0))
    least_, most = _bounds(type_)
    inside = pc.and_(pc.greater_equal(whole, pa.scalar(least_)), pc.less_equal(whole, pa.scalar(most)))
    return pc.if_else(inside, whole, pa.scalar(None, whole.type)).cast(type_)


def _bounds(type_: pa.DataType) -> tuple[decimal.Decimal, decimal.Decimal]:
    least_ = -(2 ** (type_.bit_width - 1))
    return decimal.Decimal(least_), decimal.Decimal(-least_ - 1)


def _whole(value: pa.Array, type_: pa.DataType) -> pa.Array:
    least_, most = map(int, _bounds(type_))
    if pt.is_integer(value.type):
        if value.type.bit_width <= type_.bit_width:
            return value.cast(type_)
        inside = pc.and_(
            pc.greater_equal(value, pa.scalar(least_, value.type)), pc.less_equal(value, pa.scalar(most, value.type))
        )
        return pc.if_else(inside, value, pa.scalar(None, value.type)).cast(type_)
    numbers = _numpy(value.cast(pa.float64()), np.nan)
    fits = (np.floor(numbers) <= float(most)) & (np.ceil(numbers) >= float(least_))
    numbers = np.where(fits, numbers, 0)
    # The greatest BIGINT is no DOUBLE: the one after it passes the test, and is cut back, as in Java.
    over = numbers >= 2.0**63
    cut = np.where(over, np.int64(2**63 - 1), np.where(over, 0, numbers).astype(np.int64))
    return _valid_only(cut, pa.array(fits), _BITS_64).cast(type_)


def _time(value: pa.Array, type_: pa.DataType) -> pa.Array:
    """Dates and timestamps into each other; the session is in UTC."""
    if pt.is_date32(type_):
        micros = value.cast(_BITS_64)
        days = np.floor_divide(_numpy(micros), _DAY)
        return _valid_only(days, pc.is_valid(micros), _BITS_64).cast(pa.int32(), safe=False).cast(type_)
    if pt.is_date32(value.type):
        days = value.cast(pa.int32()).cast(_BITS_64)
        return pc.multiply(days, pa.scalar(_DAY)).cast(type_)
    return value.cast(_BITS_64).cast(type_)


# -- times ---------------------------------------------------------------------------------------------------


def shift(value: Values, by: int) -> Values:
    """A date moved by days, or a timestamp moved by microseconds."""
    width = pa.int32() if pt.is_date32(value.type) else _BITS_64
    return add(value.cast(width), pa.scalar(by, width)).cast(value.type)


def since_1970(value: Values, unit: int) -> Values:
    """How many whole units, each so many microseconds, a timestamp is after the beginning of 1970.

    >>> since_1970(pa.array([-1, 1_999_999], pa.timestamp("us", "UTC")), 1_000_000).to_pylist()
    [-1, 1]
    """
    micros = value.cast(_BITS_64)
    if unit == 1:
        return micros
    return _valid_only(np.floor_divide(_numpy(micros), unit), pc.is_valid(micros), _BITS_64)


# -- texts ---------------------------------------------------------------------------------------------------


def lower(value: Values) -> Values:
    """Small letters, of all alphabets."""
    return _letters(value, pc.ascii_lower, str.lower)


def upper(value: Values) -> Values:
    """Capital letters."""
    return _letters(value, pc.ascii_upper, str.upper)


def _letters(value: pa.Array, plain: Callable[..., Any], full: Callable[[str], str]) -> pa.Array:
    # Arrow maps letter to letter, but ß becomes SS: what is not ASCII goes through Python.
    found = plain(value)
    others = pc.invert(pc.fill_null(pc.string_is_ascii(value), True))
    if pc.any(others).as_py():
        texts = pa.array([full(text) for text in value.filter(others).to_pylist()], value.type)
        found = pc.replace_with_mask(found, others, texts)
    return found


def length(value: Values) -> Values:
    """How many characters a text has."""
    return pc.utf8_length(value)


def concat(*values: Values) -> Values:
    """The texts one after the other; NULL if one of them is."""
    return pc.binary_join_element_wise(*values, pa.scalar(""), null_handling="emit_null")


def substring(value: Values, start: int, count: int | None) -> Values:
    """The characters from a place on, which is counted from 1, or from the end if it is negative.

    >>> substring(pa.array(["abc", "abcdef"]), -5, 3).to_pylist()
    ['a', 'bcd']
    """
    begin = start - 1 if start > 0 else start
    end: int | None = None
    if count is not None:
        end = begin + max(count, 0)
        if begin < 0 <= end:
            end = None
    return pc.utf8_slice_codeunits(value, begin, end)


def matches(value: Values, pattern: str) -> Values:
    """Whether a text matches a regular expression of RE2."""
    return pc.match_substring_regex(value, pattern)


# -- arrays --------------------------------------------------------------------------------------------------


def array_of(*values: Values) -> Values:
    """`array(a, b)`: an array for each row.

    >>> array_of(pa.array([1, 2]), pa.scalar(0)).to_pylist()
    [[1, 0], [2, 0]]
    """
    columns = _arrays(*values)
    rows, width = len(columns[0]), len(columns)
    order = np.arange(rows * width).reshape(width, rows).T.reshape(-1)
    ends = pa.array(np.arange(0, rows * width + 1, width, dtype=np.int32))
    return pa.ListArray.from_arrays(ends, pa.concat_arrays(columns).take(pa.array(order)))


# -- helpers -------------------------------------------------------------------------------------------------


def _array(value: Values, rows: int) -> pa.Array:
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def _arrays(*values: Values) -> list[pa.Array]:
    rows = next(len(v) for v in values if not isinstance(v, pa.Scalar))
    return [_array(v, rows) for v in values]


def _numpy(value: pa.Array, instead: float = 0) -> Any:
    """The numbers, with another one for NULL."""
    return pc.fill_null(value, pa.scalar(instead).cast(value.type)).to_numpy(zero_copy_only=False)


def _valid_only(numbers: Any, valid: pa.Array, type_: pa.DataType) -> pa.Array:
    return pa.array(numbers, type_, mask=~valid.to_numpy(zero_copy_only=False))
