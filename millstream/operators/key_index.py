"""Keys as dense numbers that last: the row of each key in the arrays of states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from millstream.operators.blobs import Blobs, from_bytes, to_bytes

INDEX = "__index"


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

    def __len__(self) -> int:
        return int(self.keys.num_rows) if self._names else self._parts

    def find(self, rows: pa.Table) -> npt.NDArray[np.int64]:
        """The number of the key of each row; new keys get new numbers."""
        if not self._names:
            if not self._parts:
                self._blobs.put(f"{self._prefix}{0:09d}", to_bytes(self._schema.empty_table()))
                self._parts = 1
            return np.zeros(rows.num_rows, dtype=np.int64)
        wanted = _frame(rows.select(self._names))
        found = self._match(wanted)
        if found.null_count():
            fresh = wanted.filter(found.is_null()).unique(maintain_order=True)
            table = fresh.to_arrow().cast(self._schema)
            self._blobs.put(f"{self._prefix}{self._parts:09d}", to_bytes(table))
            self._parts += 1
            self.keys = pa.concat_tables([self.keys, table]).combine_chunks()
            found = self._match(wanted)
        return found.to_numpy().astype(np.int64)

    def replace(self, keep: npt.NDArray[np.int64]) -> None:
        """Go on with some of the keys only, numbered anew in this order."""
        for part in range(self._parts):  # counted, not looked up: what is stored can only be read at the start
            self._blobs.delete(f"{self._prefix}{part:09d}")
        self.keys = self.keys.take(pa.array(keep))
        self._blobs.put(f"{self._prefix}{0:09d}", to_bytes(self.keys))
        self._parts = 1

    def _match(self, wanted: pl.DataFrame) -> pl.Series:
        known = _frame(self.keys).with_row_index(INDEX)
        return wanted.join(known, on=self._names, how="left", nulls_equal=True, maintain_order="left")[INDEX]


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101  (a table is never a series)
    return frame
