"""A log of tuples, in blobs: those that wait for punctuation, and those that windows still need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.operators.blobs import Blobs, from_bytes, to_bytes

MOST_PARTS = 256
"""A log of more blobs is written anew as one."""

Bools = npt.NDArray[np.bool_]


class _Part(NamedTuple):
    name: str
    live: Bools


class TupleLog:
    """Tuples in the order in which they were appended. A log that is opened again is the log as it was."""

    def __init__(self, blobs: Blobs, prefix: str) -> None:
        self._blobs = blobs
        self._prefix = prefix
        record = blobs.get(f"{prefix}live")
        bits = from_bytes(record)["live"].to_numpy() if record else np.empty(0, dtype=np.bool_)
        self._parts: list[_Part] = []
        self._tables: list[pa.Table] = []
        begin = 0
        for name, blob in blobs.scan(f"{prefix}part/"):
            table = from_bytes(blob)
            known = bits[begin : begin + table.num_rows]
            begin += table.num_rows
            # Parts that came after the last clean-up are not in its record.
            part = _Part(name, np.append(known, np.ones(table.num_rows - len(known), dtype=np.bool_)))
            self._parts.append(part)
            self._tables.append(table if part.live.all() else table.filter(pa.array(part.live)))

    @property
    def table(self) -> pa.Table | None:
        """The tuples; None if there were never any."""
        if len(self._tables) > 1:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]
        return self._tables[0] if self._tables else None

    def append(self, table: pa.Table) -> None:
        """Add tuples, all with the columns of the first ones."""
        if table.num_rows:
            if self._tables and table.schema != self._tables[0].schema:
                schema = self._tables[0].schema
                table = table.select(schema.names).cast(schema)
            self._write(table)
            self._tables.append(table)

    def keep(self, mask: Bools) -> None:
        """Drop the tuples of the table that are not in the mask."""
        table = self.table
        if table is None or mask.all():
            return
        self._tables = [table.filter(pa.array(mask))]
        begin, parts = 0, []
        for part in self._parts:
            end = begin + int(part.live.sum())
            live = part.live.copy()
            live[part.live] = mask[begin:end]
            begin = end
            if live.any():
                parts.append(_Part(part.name, live))
            else:
                self._blobs.delete(part.name)
        self._parts = parts
        if 2 * mask.sum() < sum(len(p.live) for p in parts) or len(parts) > MOST_PARTS:
            for part in parts:
                self._blobs.delete(part.name)
            self._parts = []
            self._write(self._tables[0])
        bits = np.concatenate([np.empty(0, dtype=np.bool_), *(p.live for p in self._parts)])
        if bits.all():
            self._blobs.delete(f"{self._prefix}live")
        else:
            self._blobs.put(f"{self._prefix}live", to_bytes(pa.table({"live": bits})))

    def _write(self, table: pa.Table) -> None:
        number = int(self._parts[-1].name[-9:]) + 1 if self._parts else 0
        part = _Part(f"{self._prefix}part/{number:09d}", np.ones(table.num_rows, dtype=np.bool_))
        self._blobs.put(part.name, to_bytes(table))
        self._parts.append(part)
