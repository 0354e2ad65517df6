"""Columns of Arrow as what kernels work on: an array of numbers, and an array that says which of them are NULL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.expressions.arrow.types import arrow_type
from millstream.expressions.tree import Type
from millstream.udas.body import Field

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class Numbers(NamedTuple):
    """A column; the value of a NULL is any."""

    values: npt.NDArray[Any]
    nulls: Bools


def dtype(type_: Type) -> npt.DTypeLike:
    """What values of a type are in kernels."""
    return np.float64 if type_.is_float else np.bool_ if type_.name == "bool" else np.int64


def empty(type_: Type, size: int) -> Numbers:
    """A column of NULLs."""
    return Numbers(np.zeros(size, dtype=dtype(type_)), np.ones(size, dtype=np.bool_))


def numbers(column: pa.Array, type_: Type) -> Numbers:
    """A column of Arrow.

    >>> numbers(pa.array([1, None], pa.int32()), Type("int32"))
    Numbers(values=array([1, 0]), nulls=array([False,  True]))
    """
    nulls: Bools = np.zeros(len(column), dtype=np.bool_)
    if column.null_count:
        nulls = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    if column.null_count:
        column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
    values = column.to_numpy(zero_copy_only=False)
    return Numbers(values.astype(dtype(type_), copy=False), nulls)


def to_arrow(column: Numbers, type_: Type) -> pa.Array:
    """A column for Arrow."""
    kind = arrow_type(type_)
    plain = pa.array(column.values, mask=column.nulls)
    return plain.cast(pa.int32()).cast(kind) if pa.types.is_date(kind) else plain.cast(kind)


def rows_of(has: Bools, columns: Sequence[Numbers], result: Sequence[Field], row: pa.DataType) -> pa.Array:
    """For each answer the list of the one row that it is, or of none."""
    found = [Numbers(c.values[has], c.nulls[has]) for c in columns]
    arrays = [to_arrow(c, f.type) for c, f in zip(found, result, strict=True)]
    rows = pa.StructArray.from_arrays(arrays, fields=list(row))
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(has)), pa.int32()), rows)
