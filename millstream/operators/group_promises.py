"""Promises to some of the groups: punctuation that names values of key columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.grouped import Grouped

Group = tuple[tuple[str, Any], ...]
Marks = npt.NDArray[np.int64]

BEFORE_ALL = -(2**62)
"""Before any time stamp, and far enough from the ends of int64 that an origin can be taken from it."""

NAMED, UNTIL = "__named", "__until"
BLOB = "promises"


class GroupPromises:
    """The promises that are ahead of the low-watermark of the whole stream; they hold for new keys too."""

    def __init__(self, work: Grouped, blobs: Blobs) -> None:
        self._types = dict(work.keys)
        self._blobs = blobs
        self._until: dict[Group, int] = {}
        self._marked: tuple[pa.Table, Marks] | None = None
        stored = blobs.get(BLOB)
        for row in from_bytes(stored).to_pylist() if stored else ():
            self._until[tuple((name, row[name]) for name in row[NAMED])] = row[UNTIL]

    def knows(self, group: Group) -> bool:
        """Whether the columns that a group is named by are keys."""
        return all(name in self._types for name, _ in group)

    def add(self, group: Group, until: int) -> None:
        """Take note of a promise."""
        group = tuple(sorted(group, key=lambda pair: pair[0]))
        self._until[group] = max(until, self._until.get(group, until))
        self._save()

    def pass_by(self, low_watermark: int) -> None:
        """Forget the promises that the whole stream has made good on."""
        left = {group: until for group, until in self._until.items() if until > low_watermark}
        if len(left) < len(self._until):
            self._until = left
            self._save()

    def marks(self, keys: pa.Table) -> Marks | None:
        """Up to where each key is promised; None if there is no promise to any."""
        if not self._until:
            return None
        if self._marked is None or self._marked[0] is not keys:
            marks = np.full(keys.num_rows, BEFORE_ALL, dtype=np.int64)
            for group, until in self._until.items():
                np.maximum(marks, until, out=marks, where=self.matches(group, keys))
            self._marked = (keys, marks)
        return self._marked[1]

    def matches(self, group: Group, keys: pa.Table) -> npt.NDArray[np.bool_]:
        """The keys that have all the values of a group; NULL is a value like any other."""
        found = np.ones(keys.num_rows, dtype=np.bool_)
        for name, value in group:
            column = keys[name]
            if value is None:
                equal = pc.is_null(column)
            elif isinstance(value, float) and math.isnan(value):
                equal = pc.is_nan(column)
            else:
                equal = pc.equal(column, pa.scalar(value, self._types[name]))
            found &= pc.fill_null(equal, False).to_numpy().astype(np.bool_)
        return found

    def _save(self) -> None:
        self._marked = None
        if not self._until:
            self._blobs.delete(BLOB)
            return
        rows = [dict(group) for group in self._until]
        data = {name: pa.array([row.get(name) for row in rows], type_) for name, type_ in self._types.items()}
        data[NAMED] = pa.array([[name for name, _ in group] for group in self._until], pa.list_(pa.string()))
        data[UNTIL] = pa.array(list(self._until.values()), pa.int64())
        self._blobs.put(BLOB, to_bytes(pa.table(data)))
