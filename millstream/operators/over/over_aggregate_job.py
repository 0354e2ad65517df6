"""The job of OVER: each tuple gets the answers over its frames as more columns."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.operators.window_aggregate_job import Call
from millstream.windows.over import Over


@dataclass(frozen=True)
class OverCall:
    """One aggregate over one frame."""

    call: Call
    window: Over


@dataclass(frozen=True)
class OverAggregateJob:
    """Calls over frames of one partition. All have the same slide, if they have any.

    The tuples have the columns of the partition, the columns that the calls read, `carried`, and TIME. The answers
    have the columns `carried` and those of the calls.
    """

    partition: tuple[tuple[str, pa.DataType], ...]
    calls: tuple[OverCall, ...]
    carried: tuple[str, ...]

    @property
    def partition_names(self) -> list[str]:
        """The names of the partition's columns."""
        return [name for name, _ in self.partition]
