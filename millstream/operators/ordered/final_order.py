"""Tuples in their final order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.codes import Numbers
from millstream.operators.tuples.tuple_log import Bools


@dataclass(frozen=True)
class FinalOrder:
    """Tuples whose order is final: by partition, and in each first those that were settled before, then the new."""

    table: pa.Table
    order: Numbers
    """Rows of the table; what follows is in this order."""
    partition: Numbers
    times: Numbers
    ranked_by: Numbers
    """The times, or the arrival numbers."""
    new: Bools
    before: int = 0
    """How many were in their order before these."""

    @property
    def ranks(self) -> Numbers:
        """Numbers that grow with the order, from batch to batch: for aggregates, as times may be equal."""
        return np.arange(self.before, self.before + len(self.order))

    def column(self, name: str) -> pa.Array:
        """The values of a column."""
        return self.table[name].combine_chunks().take(pa.array(self.order))

    def passing(self, condition: str | None) -> Bools:
        """The tuples that a FILTER lets through: those whose condition is true, all if there is none."""
        if condition is None:
            return np.ones(len(self.order), dtype=np.bool_)
        found: Bools = pc.fill_null(self.column(condition), False).to_numpy(zero_copy_only=False)
        return found

    @cached_property
    def begins(self) -> Numbers:
        """For each tuple the place of the first one of its partition."""
        return np.searchsorted(self.partition, self.partition)

    @cached_property
    def ends(self) -> Numbers:
        """For each tuple the place after the last one of its partition."""
        return np.searchsorted(self.partition, self.partition, side="right")

    @cached_property
    def news(self) -> Numbers:
        """For each tuple the place of the first new one of its partition."""
        old: Numbers = np.append(0, np.cumsum(~self.new))
        return self.begins + old[self.ends] - old[self.begins]

    def last_peers(self, counts: Bools) -> Numbers:
        """For each tuple that counts the place of the last one that does among those of its partition and time."""
        size = len(self.order)
        begins = np.flatnonzero(np.append(True, (np.diff(self.partition) != 0) | (np.diff(self.times) != 0))[:size])
        if not size or len(begins) == size:
            return np.arange(size)
        lasts = np.maximum.reduceat(np.where(counts, np.arange(size), -1), begins)
        return np.repeat(lasts, np.diff(begins, append=size))

    @cached_property
    def _instants(self) -> tuple[Numbers, Numbers]:
        distinct = np.unique(self.times)
        return distinct, self.partition * (len(distinct) + 1) + np.searchsorted(distinct, self.times)

    def seek(self, partition: Numbers, times: Numbers, side: Literal["left", "right"] = "left") -> Numbers:
        """The places of the first tuples of partitions from certain times on, or after them; in order of time."""
        distinct, places = self._instants
        wanted = partition * (len(distinct) + 1) + np.searchsorted(distinct, times, side=side)
        found: Numbers = np.searchsorted(places, wanted)
        return found
