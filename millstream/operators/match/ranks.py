"""Values placed among others: how many of the known ones are less, and how many are not greater."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.operators.codes import ROOM

Numbers = npt.NDArray[np.int64]

NOWHERE = -1
"""Where NULL lies among values, and a value that must be known and is not."""


class Ranks:
    """The different values of a column, in order. NaN equals itself and is the greatest, as in Spark.

    >>> ranks = Ranks(pa.array([30, 10, None, 30]))
    >>> [found.tolist() for found in ranks.place(pa.array([5, 10, 20, 99, None]))]
    [[0, 0, 1, 2, -1], [0, 1, 1, 2, -1]]
    >>> ranks.of(pa.array([30, 20, 10, None])).tolist()
    [1, -1, 0, -1]
    """

    def __init__(self, values: pa.Array) -> None:
        known = values.drop_null()
        self._numeric = _is_numeric(values.type)
        self._known: Any
        if self._numeric:
            self._known = np.unique(_numbers(known))
        else:
            different = known.unique()
            self._known = different.take(pc.array_sort_indices(different))
        self.count = len(self._known)
        self._places = self._table() if self._numeric else None

    def place(self, values: pa.Array) -> tuple[Numbers, Numbers]:
        """For each value how many known ones are less, and how many are not greater; -1 for NULL."""
        if self._numeric:
            numbers = _numbers(values)
            less = np.searchsorted(self._known, numbers, "left")
            most = np.searchsorted(self._known, numbers, "right")
        else:
            less, most = self._placed_by_rank(values)
        if values.null_count:
            null = pc.is_null(values).to_numpy(zero_copy_only=False)
            less, most = np.where(null, NOWHERE, less), np.where(null, NOWHERE, most)
        return less, most

    def of(self, values: pa.Array) -> Numbers:
        """The number of each value among those that are known; -1 for others and for NULL."""
        if not self.count:
            return np.full(len(values), NOWHERE, dtype=np.int64)
        if not self._numeric:
            found = pc.fill_null(pc.index_in(values, self._known), NOWHERE)
            numbers: Numbers = found.to_numpy(zero_copy_only=False).astype(np.int64)
            return numbers
        if self._places is not None:
            return self._looked_up(values, self._places)
        less, most = self.place(values)
        return np.where(most > less, less, NOWHERE)

    def _placed_by_rank(self, values: pa.Array) -> tuple[Numbers, Numbers]:
        encoded = values.dictionary_encode()
        both = pa.concat_arrays([self._known, encoded.dictionary])
        ranks = pc.rank(both, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
        known, theirs = ranks[: self.count], ranks[self.count :]
        codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
        if not len(theirs):  # all of them are NULL
            nothing = np.zeros(len(codes), dtype=np.int64)
            return nothing, nothing
        return np.searchsorted(known, theirs, "left")[codes], np.searchsorted(known, theirs, "right")[codes]

    def _table(self) -> Numbers | None:
        """The numbers of whole numbers near each other, by their distance from the first: that beats searching."""
        if not self.count or not np.issubdtype(self._known.dtype, np.signedinteger):
            return None
        span = int(self._known[-1]) - int(self._known[0]) + 1
        if span > ROOM * self.count + 1024:
            return None
        places = np.full(span, NOWHERE, dtype=np.int64)
        places[self._known.astype(np.int64) - int(self._known[0])] = np.arange(self.count)
        return places

    def _looked_up(self, values: pa.Array, places: Numbers) -> Numbers:
        numbers = _numbers(values).astype(np.int64)
        low = int(self._known[0])
        near = (numbers >= low) & (numbers <= int(self._known[-1]))
        if values.null_count:
            near &= pc.is_valid(values).to_numpy(zero_copy_only=False)
        return np.where(near, places[np.where(near, numbers - low, 0)], NOWHERE)


def _is_numeric(type_: pa.DataType) -> bool:
    whole = pt.is_integer(type_) or pt.is_boolean(type_) or pt.is_date32(type_) or pt.is_timestamp(type_)
    return bool(whole or pt.is_floating(type_) or pt.is_duration(type_))


def _numbers(values: pa.Array) -> npt.NDArray[Any]:
    """Values as numbers in the same order, with any number for NULL."""
    if pt.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pt.is_timestamp(values.type) or pt.is_duration(values.type):
        values = values.cast(pa.int64())
    elif pt.is_boolean(values.type):
        values = values.cast(pa.int8())
    if values.null_count:
        values = pc.fill_null(values, pa.scalar(0, values.type))
    found: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found
