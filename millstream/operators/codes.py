"""Groups of rows as dense numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

Numbers = npt.NDArray[np.int64]


ROOM = 8
"""Numbers that span no more than so many times their count are looked up in a table: that beats hashing them."""


def dense_groups(columns: Sequence[pa.Array], rows: int) -> tuple[Numbers, Numbers]:
    """For each row the number of its group, and for each group the row in which it first appears.

    Rows belong to one group if all columns are equal; NULL equals NULL.

    >>> groups, firsts = dense_groups([pa.array(["b", "a", "b", None])], 4)
    >>> groups.tolist(), firsts.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    """
    codes = np.zeros(rows, dtype=np.int64)
    size = 1
    for column in columns:
        indices, count = _encode(column)
        if size * max(count, 1) > 2**62:
            codes, firsts = _dense(codes, size)
            size = len(firsts)
        codes = codes * count + indices
        size *= max(count, 1)
    return _dense(codes, size)


def _encode(column: pa.Array) -> tuple[Numbers, int]:
    """Small numbers that stand for the values, and how many there may be."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pt.is_signed_integer(array.type) and not array.null_count and len(array):
        values = array.to_numpy()
        low, high = int(values.min()), int(values.max())
        if high - low < ROOM * len(values):
            return values.astype(np.int64) - low, high - low + 1
    return _hashed(array)


def _hashed(array: pa.Array) -> tuple[Numbers, int]:
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)


def _dense(codes: Numbers, size: int) -> tuple[Numbers, Numbers]:
    if size <= ROOM * len(codes):
        known = np.zeros(size, dtype=np.bool_)
        known[codes] = True
        numbers = np.cumsum(known, dtype=np.int64) - 1
        groups, count = numbers[codes], int(numbers[-1]) + 1
    else:
        groups, count = _hashed(pa.array(codes))
    firsts = np.empty(count, dtype=np.int64)
    # Written backwards, so that the first row of each group is written last.
    firsts[groups[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return groups, firsts
