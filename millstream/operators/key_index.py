"""A dense number per key, which lasts: its row in the arrays of states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.types as pt

from millstream.operators.blobs import Blobs, from_bytes, to_bytes

INDEX = "__index"

ROOM = 1 << 22
"""Keys that are whole numbers, no further apart than this, are found in a table of their numbers."""


class KeyIndex:
    """Gives each key a number when it first comes, and keeps them as a log of blobs, one per batch of new keys."""

    def __init__(self, names: Sequence[str], types: Sequence[pa.DataType], blobs: Blobs, prefix: str) -> None:
        self._names = list(names)
        self._blobs = blobs
        self._prefix = prefix
        self._schema = pa.schema([pa.field(n, t) for n, t in zip(names, types, strict=True)])
        parts = [from_bytes(blob) for _, blob in blobs.scan(prefix)]
        self.keys: pa.Table = pa.concat_tables([self._schema.empty_table(), *parts])
        self._parts = len(parts)
        self._places = _Places()

    def __len__(self) -> int:
        return int(self.keys.num_rows) if self._names else self._parts

    def find(self, rows: pa.Table) -> npt.NDArray[np.int64]:
        """The number of the key of each row; new keys get new numbers."""
        if not self._names:
            if not self._parts:
                self._blobs.put(f"{self._prefix}{0:09d}", to_bytes(self._schema.empty_table()))
                self._parts = 1
            return np.zeros(rows.num_rows, dtype=np.int64)
        found = self._numbers(rows)
        new = found < 0
        if new.any():
            self._add(_frame(rows.select(self._names).filter(pa.array(new))).unique(maintain_order=True))
            found = self._numbers(rows)
        return found

    def _add(self, fresh: pl.DataFrame) -> None:
        table = fresh.to_arrow().cast(self._schema)
        self._blobs.put(f"{self._prefix}{self._parts:09d}", to_bytes(table))
        self._parts += 1
        self.keys = pa.concat_tables([self.keys, table]).combine_chunks()

    def _numbers(self, rows: pa.Table) -> npt.NDArray[np.int64]:
        """The number of the key of each row, -1 for a key that has none."""
        found = self._places.find(rows, self._names, self.keys)
        return self._match(_frame(rows.select(self._names))) if found is None else found

    def replace(self, keep: npt.NDArray[np.int64]) -> None:
        """Go on with some of the keys only, numbered anew in this order."""
        for part in range(self._parts):  # counted, not looked up: what is stored can only be read at the start
            self._blobs.delete(f"{self._prefix}{part:09d}")
        self.keys = self.keys.take(pa.array(keep))
        self._places = _Places()
        self._blobs.put(f"{self._prefix}{0:09d}", to_bytes(self.keys))
        self._parts = 1

    def _match(self, wanted: pl.DataFrame) -> npt.NDArray[np.int64]:
        known = _frame(self.keys).with_row_index(INDEX)
        found = wanted.join(known, on=self._names, how="left", nulls_equal=True, maintain_order="left")[INDEX]
        numbers: npt.NDArray[np.int64] = found.cast(pl.Int64).fill_null(-1).to_numpy()
        return numbers


class _Places:
    """The numbers of keys that are whole numbers close together, by their distance from the lowest."""

    def __init__(self) -> None:
        self._low = 0
        self._numbers: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._known = 0

    def find(self, rows: pa.Table, names: Sequence[str], keys: pa.Table) -> npt.NDArray[np.int64] | None:
        """The number of the key of each row, -1 for a key that has none; None if keys are not of this kind."""
        if len(names) != 1 or not pt.is_signed_integer(keys.schema.types[0]):
            return None
        wanted = rows[names[0]]
        if wanted.null_count or not self._learn(keys.column(0)):
            return None
        places = wanted.to_numpy().astype(np.int64) - self._low
        known = (places >= 0) & (places < len(self._numbers))
        found = np.full(len(places), -1, dtype=np.int64)
        found[known] = self._numbers[places[known]]
        return found

    def _learn(self, keys: pa.ChunkedArray) -> bool:
        """Take in the keys that have come since; says whether they are close enough together."""
        if len(keys) == self._known:
            return bool(self._known)
        new = keys.slice(self._known)
        if new.null_count:
            return False
        values = new.to_numpy().astype(np.int64)
        low, high = int(values.min()), int(values.max())
        if self._known:
            low, high = min(low, self._low), max(high, self._low + len(self._numbers) - 1)
        if high - low >= ROOM:
            return False
        if not self._known or low < self._low or high >= self._low + len(self._numbers):
            grown = np.full(high - low + 1, -1, dtype=np.int64)
            if self._known:
                grown[self._low - low : self._low - low + len(self._numbers)] = self._numbers
            self._low, self._numbers = low, grown
        self._numbers[values - self._low] = np.arange(self._known, len(keys))
        self._known = len(keys)
        return True


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101  (a table is never a series)
    return frame
