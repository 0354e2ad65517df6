"""The tuples that a FILTER lets through to each aggregate call."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.contract import Groups, Times


class CallFilters:
    """Some rows of a table: their groups and times, and the columns that are asked for. Each is made once, if at all.

    >>> rows = pa.table({"x": [5, 6, 7], "good": [True, None, True]})
    >>> chosen = CallFilters(rows, np.array([0, 0, 1]), np.array([10, 20, 30])).where("good")
    >>> chosen.groups, chosen.times, chosen.column("x").to_pylist()
    (array([0, 1]), array([10, 30]), [5, 7])
    """

    def __init__(self, rows: pa.Table, groups: Groups, times: Times, at: npt.NDArray[np.int64] | None = None) -> None:
        self._rows, self._groups, self._times = rows, groups, times
        self._at = at
        self._columns: dict[str, pa.Array] = {}

    def where(self, condition: str) -> CallFilters:
        """Of all rows those for which a column is true."""
        keep = pc.fill_null(self._rows[condition], False).to_numpy()
        return CallFilters(self._rows, self._groups, self._times, np.flatnonzero(keep))

    @cached_property
    def groups(self) -> Groups:
        """The group of each row."""
        return self._groups if self._at is None else self._groups[self._at]

    @cached_property
    def times(self) -> Times:
        """The time of each row."""
        return self._times if self._at is None else self._times[self._at]

    def column(self, name: str) -> pa.Array:
        """A column."""
        if name not in self._columns:
            column = self._rows[name].combine_chunks()
            self._columns[name] = column if self._at is None else column.take(pa.array(self._at))
        return self._columns[name]
