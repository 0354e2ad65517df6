"""Groups of rows as dense numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.aggregates.sorting import in_order

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
    if not columns:
        return np.zeros(rows, dtype=np.int64), np.zeros(min(rows, 1), dtype=np.int64)
    codes, size = _encode(columns[0])
    for column in columns[1:]:
        indices, count = _encode(column)
        if size * max(count, 1) > 2**62:
            codes, firsts = _dense(codes, size)
            size = len(firsts)
        codes = codes * count + indices
        size *= max(count, 1)
    return _dense(codes, size)


def by_group_and_time(groups: Numbers, times: Numbers) -> Numbers:
    """The rows of each group one after the other, in the order of time; those of one time as they came.

    >>> by_group_and_time(np.array([1, 0, 1, 0]), np.array([5, 7, 4, 7])).tolist()
    [1, 3, 2, 0]
    """
    bits = len(groups).bit_length()
    if not len(groups) or int(groups.max()) >= 1 << 62 - bits:
        return np.lexsort((times, groups))
    by_time = np.argsort(times, kind="stable") if (times[1:] < times[:-1]).any() else None
    # To sort numbers is much faster than to find the order of them: so each row goes along with its group.
    keys = (groups if by_time is None else groups[by_time]) << bits
    keys |= np.arange(len(groups))
    order = in_order(keys) & (1 << bits) - 1
    return order if by_time is None else by_time[order]


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
    # Written backwards, so that the first row of each group is written last.
    rows = np.arange(len(codes) - 1, -1, -1)
    if size <= ROOM * len(codes):
        places = np.full(size, -1, dtype=np.int64)
        places[codes[::-1]] = rows
        known = places >= 0
        return (np.cumsum(known, dtype=np.int64) - 1)[codes], places[known]
    groups, count = _hashed(pa.array(codes))
    firsts = np.empty(count, dtype=np.int64)
    firsts[groups[::-1]] = rows
    return groups, firsts
