"""The newest row of each key, in memory: whole batches are put in at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.key_index import KeyIndex

OP = "op"
INSERT, UPDATE = "insert", "update"
"""What has happened to a key, in the column OP of the changes."""

ROOM = 4096
"""So many rows that are not the newest any more may stay beside those that are, and as many as there are keys."""

_OLDEST = np.iinfo(np.int64).min


class Newest:
    """One row per key: that with the latest time stamp, and of several with the same the one that came last.

    Without a time stamp, it is the one that came last.
    """

    def __init__(self, schema: pa.Schema, keys: Sequence[str], time: str | None) -> None:
        self._schema = schema
        self._time = time
        self._index = KeyIndex(keys, [schema.field(key).type for key in keys], MemoryBlobs(), "")
        self._rows: list[pa.Table] = []
        self._count = 0
        self._places: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._times: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._places)

    def put(self, rows: pa.Table) -> pa.Table:
        """Put a batch in; the rows that are now the newest of their keys, with what has happened to the key."""
        known = len(self._places)
        numbers, times = self._index.find(rows), self._stamps(rows)
        order = np.lexsort((times, numbers))  # which is stable: of equal ones the last comes last
        last = np.flatnonzero(np.append(numbers[order][1:] != numbers[order][:-1], True))
        chosen = np.sort(order[last])
        numbers, times = numbers[chosen], times[chosen]
        new = numbers >= known
        self._times = np.concatenate([self._times, np.full(len(self._index) - known, _OLDEST)])
        later = new | (times >= self._times[numbers])
        chosen, numbers, new = chosen[later], numbers[later], new[later]
        self._times[numbers] = times[later]
        self._places = np.concatenate([self._places, np.zeros(len(self._times) - known, np.int64)])
        self._places[numbers] = self._count + np.arange(len(chosen))
        taken = rows.take(pa.array(chosen))
        self._rows.append(taken)
        self._count += len(chosen)
        if self._count > 2 * len(self._places) + ROOM:
            self._compact()
        ops = pc.if_else(pa.array(new), INSERT, UPDATE)
        return taken.add_column(0, OP, ops)

    def table(self) -> pa.Table:
        """The newest row of each key, in the order in which keys first came."""
        self._compact()
        return self._rows[0] if self._rows else self._schema.empty_table()

    def _compact(self) -> None:
        if len(self._rows) > 1:
            self._rows = [pa.concat_tables(self._rows).take(pa.array(self._places)).combine_chunks()]
            self._places = np.arange(len(self._places))
            self._count = len(self._places)

    def _stamps(self, rows: pa.Table) -> npt.NDArray[np.int64]:
        if self._time is None:
            return np.zeros(rows.num_rows, np.int64)
        stamps: npt.NDArray[np.int64] = pc.fill_null(rows[self._time].cast(pa.int64()), _OLDEST).to_numpy()
        return stamps
