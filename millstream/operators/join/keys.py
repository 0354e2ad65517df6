"""Keys of joins in a form in which equal keys are equal numbers or bytes, and their hashes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

Numbers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_DIGITS = 18
"""Decimals of no more digits are whole numbers of 64 bits, but for their scale."""


def plain_key(column: pa.Array) -> pa.Array:
    """A key column without NULLs as int64 or binary: its values are equal exactly where keys are.

    NaN equals NaN, and -0.0 equals 0.0.

    >>> plain_key(pa.array([0.0, 1.0])) == plain_key(pa.array([-0.0, 1.0]))
    True
    >>> plain_key(pa.array(["a"])).type
    DataType(binary)
    """
    type_ = column.type
    if pt.is_dictionary(type_):
        return plain_key(column.cast(type_.value_type))
    if pt.is_floating(type_):
        values = column.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0  # -0.0 becomes 0.0
        values[np.isnan(values)] = np.nan  # there are many, and all become the same
        return pa.array(values.view(np.int64))
    if pt.is_uint64(type_):
        return pa.array(column.to_numpy(zero_copy_only=False).view(np.int64))
    if pt.is_integer(type_) or pt.is_boolean(type_):
        return column.cast(pa.int64())
    if pt.is_date32(type_) or pt.is_time32(type_):
        return column.cast(pa.int32()).cast(pa.int64())
    if pt.is_date64(type_) or pt.is_time64(type_) or pt.is_timestamp(type_) or pt.is_duration(type_):
        return column.cast(pa.int64())
    if pt.is_decimal(type_) and type_.precision <= MOST_DIGITS:
        return _low_halves(column.cast(pa.decimal128(type_.precision, type_.scale)))
    if pt.is_decimal(type_):
        return column.cast(pa.string()).cast(pa.binary())
    if _is_text(type_):
        return column.cast(pa.binary())
    # Lists, structs and what else there may be: rare enough to go through Python.
    return pa.array([repr(value).encode() for value in column.to_pylist()], pa.binary())


def _low_halves(column: pa.Array) -> pa.Array:
    """The lower 64 bits of decimals, which are all that those of few digits have."""
    data = column.buffers()[1]
    halves = np.empty(0, dtype=np.int64) if data is None else np.frombuffer(data, np.int64)
    return pa.array(halves[2 * column.offset :][: 2 * len(column) : 2])


def _is_text(type_: pa.DataType) -> bool:
    return any(
        (
            pt.is_string(type_),
            pt.is_large_string(type_),
            pt.is_string_view(type_),
            pt.is_binary(type_),
            pt.is_large_binary(type_),
            pt.is_binary_view(type_),
            pt.is_fixed_size_binary(type_),
        )
    )


def is_exact(columns: Sequence[pa.Array]) -> bool:
    """Whether keys are equal if their hashes are: so for a single number, which is its own hash."""
    return not columns or (len(columns) == 1 and pt.is_int64(columns[0].type))


def hash_keys(columns: Sequence[pa.Array], rows: int) -> Numbers:
    """A number for each row that is the same for equal keys; others have it only by bad luck."""
    if not columns:
        return np.zeros(rows, dtype=np.int64)
    if is_exact(columns):
        exact: Numbers = columns[0].to_numpy()
        return exact
    total = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        if pt.is_int64(column.type):
            part = column.to_numpy().view(np.uint64)
        else:
            part = pl.Series(values=pl.from_arrow(column), dtype=pl.Binary).hash().to_numpy()
        total = _mixed(total * np.uint64(31) + part)
    return total.view(np.int64)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The last step of splitmix64: numbers near each other become numbers anywhere."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def same_keys(ours: Sequence[pa.Array], at: Numbers, theirs: Sequence[pa.Array], there: Numbers) -> Bools:
    """Whether the keys in two rows are equal, for many pairs of rows."""
    same = np.ones(len(at), dtype=np.bool_)
    for our, their in zip(ours, theirs, strict=True):
        if pt.is_int64(our.type):
            same &= our.to_numpy()[at] == their.to_numpy()[there]
        else:
            same &= pc.equal(our.take(pa.array(at)), their.take(pa.array(there))).to_numpy(zero_copy_only=False)
    return same
