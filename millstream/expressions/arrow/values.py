"""What lies under the other `arrow_` files, which compute on whole Arrow arrays, with Spark's results bit for bit.

Their arguments are arrays of equal length, and single values that stand for as many; one argument at least is an array.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

Values = Any
"""An Arrow array, or an Arrow scalar."""

BITS_64 = pa.int64()


def as_array(value: Values, rows: int) -> pa.Array:
    """An array of so many rows."""
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def as_arrays(*values: Values) -> list[pa.Array]:
    """Arrays of equal length."""
    rows = next(len(v) for v in values if not isinstance(v, pa.Scalar))
    return [as_array(v, rows) for v in values]


def as_numpy(value: pa.Array, instead: float = 0) -> Any:
    """The numbers, with another one for NULL."""
    whole = pc.fill_null(value, pa.scalar(instead).cast(value.type)) if value.null_count else value
    return whole.to_numpy(zero_copy_only=False)


def valid_only(numbers: Any, valid: pa.Array, type_: pa.DataType) -> pa.Array:
    """The numbers where they count, elsewhere NULL."""
    counted = valid.to_numpy(zero_copy_only=False)
    return pa.array(numbers, type_) if counted.all() else pa.array(numbers, type_, mask=~counted)


def elementwise(value: Values, *, formula: Callable[[Any], Any], type_: pa.DataType) -> Values:
    """What a formula gives for each number, where a date or a timestamp is one: it takes arrays of numbers, too."""
    whole = value.cast(pa.int32()) if pt.is_date32(value.type) else value
    whole = whole.cast(BITS_64)
    return valid_only(formula(as_numpy(whole)), pc.is_valid(whole), BITS_64).cast(type_)


def not_zero(value: Values) -> Values:
    """The numbers, with NULL for zero."""
    zero = pa.scalar(Decimal(0) if pt.is_decimal(value.type) else 0, value.type)
    return pc.if_else(pc.equal(value, zero), pa.scalar(None, value.type), value)
