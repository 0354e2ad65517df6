"""Promises to groups: punctuation that names values of key columns."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.progress.group_table import UNTIL, Group, by_names, from_table, group_of, to_table

Marks = npt.NDArray[np.int64]

BEFORE_ALL = -(2**62)
"""Before any time stamp, and far enough from the ends of int64 that an origin can be taken from it."""

BLOB = "promises"


class GroupPromises:
    """The promises that are ahead of the low-watermark of the whole stream; they hold for new keys too."""

    def __init__(self, types: Mapping[str, pa.DataType], blobs: Blobs, blob: str = BLOB) -> None:
        self.types = dict(types)
        self._blobs = blobs
        self._blob = blob
        stored = blobs.get(blob)
        self.until: dict[Group, int] = from_table(from_bytes(stored)) if stored else {}
        self._changed = False
        self._marked: tuple[pa.Table, Marks] | None = None

    def knows(self, group: Group) -> bool:
        """Whether the columns that a group is named by are keys."""
        return all(name in self.types for name, _ in group)

    def add(self, group: Group, until: int) -> bool:
        """Take note of a promise; says whether it is further than what was promised to this group before."""
        group = group_of(group)
        if until <= self.until.get(group, until - 1):
            return False
        self.until[group] = until
        self._changed = True
        if self._marked is not None:
            keys, marks = self._marked
            np.maximum(marks, until, out=marks, where=self.matches(group, keys))
        return True

    def pass_by(self, low_watermark: int) -> None:
        """Forget the promises that the whole stream has made good on."""
        left = {group: until for group, until in self.until.items() if until > low_watermark}
        if len(left) < len(self.until):
            self.until = left
            self._changed = True
            self._marked = None

    def marks(self, keys: pa.Table) -> Marks | None:
        """Up to where each key is promised; None if there is no promise to any."""
        if not self.until:
            return None
        if self._marked is None or self._marked[0] is not keys:
            self._marked = (keys, marks_of(self.until, self.types, keys, BEFORE_ALL))
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
                equal = pc.equal(column, pa.scalar(value, self.types[name]))
            found &= pc.fill_null(equal, False).to_numpy().astype(np.bool_)
        return found

    def save(self) -> None:
        """Put what has changed into the blobs: once at the end of a batch, which may bring many promises."""
        if not self._changed:
            return
        self._changed = False
        if self.until:
            self._blobs.put(self._blob, to_bytes(to_table(self.until, self.types)))
        else:
            self._blobs.delete(self._blob)


def marks_of(until: Mapping[Group, int], types: Mapping[str, pa.DataType], keys: pa.Table, otherwise: int) -> Marks:
    """Up to where each key is promised; NULL is a value like any other.

    >>> keys = pa.table({"k": ["a", "b", None], "n": [1, 1, 2]})
    >>> types = dict(zip(keys.column_names, keys.schema.types))
    >>> marks_of({(("k", "b"),): 5, (("k", None),): 6, (("n", 1),): 4}, types, keys, 0).tolist()
    [4, 5, 6]
    """
    marks = np.full(keys.num_rows, otherwise, dtype=np.int64)
    for names, named in by_names(until).items():
        known = _frame(to_table(named, {name: types[name] for name in names}).select([*names, UNTIL]))
        wanted = _frame(keys.select(names).cast(pa.schema([(name, types[name]) for name in names])))
        # Whoever has the keys looks them up by such joins too: what is equal there is equal here.
        found = wanted.join(known, on=list(names), how="left", nulls_equal=True, maintain_order="left")[UNTIL]
        np.maximum(marks, found.fill_null(otherwise).to_numpy(), out=marks)
    return marks


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101  (a table is never a series)
    return frame
