"""Arrow columns for aggregates: without NULLs, and as numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.aggregates.contract import Groups, Times

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NARROW = 18
"""The most digits of a decimal that always fits an int64."""


def present(groups: Groups, arguments: Sequence[pa.Array], times: Times) -> tuple[Groups, list[pa.Array], Times]:
    """The tuples without NULL among their arguments.

    >>> groups, (values,), times = present(np.array([0, 1, 2]), [pa.array([5, None, 7])], np.array([10, 20, 30]))
    >>> groups, values.to_pylist(), times
    (array([0, 2]), [5, 7], array([10, 30]))
    """
    if not any(a.null_count for a in arguments):
        return groups, list(arguments), times
    valid = arguments[0].is_valid()
    for argument in arguments[1:]:
        valid = pc.and_(valid, argument.is_valid())
    kept = np.flatnonzero(valid)
    return groups[kept], [a.filter(valid) for a in arguments], times[kept]


def valued(groups: Groups, argument: pa.Array) -> tuple[Groups, pa.Array]:
    """The tuples whose only argument is not NULL, for aggregates that do not look at time.

    >>> valued(np.array([0, 1, 2]), pa.array([5, None, 7]))[0]
    array([0, 2])
    """
    if not argument.null_count:
        return groups, argument
    return groups[np.flatnonzero(argument.is_valid())], argument.drop_null()


def is_narrow(kind: pa.DataType) -> bool:
    """Whether values are whole numbers that fit an int64: integers, and decimals of few digits."""
    return bool(pt.is_signed_integer(kind) or (pt.is_decimal128(kind) and kind.precision <= NARROW))


def is_number(kind: pa.DataType) -> bool:
    """Whether there is arithmetic on a type."""
    return bool(pt.is_signed_integer(kind) or pt.is_decimal128(kind) or pt.is_float32(kind) or pt.is_float64(kind))


def refuse(name: str, kind: pa.DataType, wanted: str = "a number") -> NoReturn:
    """Say that an aggregate does not take a type."""
    raise TypeError(f"{name} does not take {kind}: it wants {wanted}")


def to_ints(array: pa.Array) -> Ints:
    """Integers and narrow decimals as int64, decimals without their point; there must be no NULL."""
    if pt.is_decimal128(array.type):
        return np.ascontiguousarray(decimal_words(array)[:, 0])
    values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values.astype(np.int64, copy=False)


def to_floats(array: pa.Array) -> Floats:
    """Numbers as float64; there must be no NULL."""
    if pt.is_decimal128(array.type):
        array = array.cast(pa.float64())
    values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values.astype(np.float64, copy=False)


def decimal_words(array: pa.Array) -> Ints:
    """The two 64-bit words of each decimal, low word first, as Arrow keeps them."""
    words = np.frombuffer(array.buffers()[1], dtype=np.int64) if len(array) else np.empty(0, dtype=np.int64)
    return words[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)


def decimals(low: Ints, high: Ints, valid: Bools, kind: pa.DataType) -> pa.Array:
    """Decimals from their two words; the opposite of `decimal_words`."""
    words = np.ascontiguousarray(np.stack([low, high], axis=1))
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(low), [bits, pa.py_buffer(words)])


def nullable(values: npt.NDArray[Any], valid: Bools, kind: pa.DataType) -> pa.Array:
    """Values as an Arrow column, with NULL where they are not valid."""
    return pa.array(values, type=kind, mask=None if valid.all() else ~valid)
