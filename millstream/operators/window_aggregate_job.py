"""The job of a window aggregate: keys, aggregate calls, and the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.aggregates.contract import Aggregate
from millstream.windows.contract import Window
from millstream.windows.emit import Emit

TIME = "__time"
PANE = "__pane"
ARRIVAL = "__arrival"
"""The numbers by which tuples arrived, where they are known and matter."""


@dataclass(frozen=True)
class Call:
    """One aggregate and the columns it reads; `condition` is the column of its FILTER.

    `names` are the columns that its answers go to: none if it is computed for its own sake, several if the same
    aggregate was asked for several times.
    """

    aggregate: Aggregate
    arguments: tuple[str, ...] = ()
    condition: str | None = None
    names: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many columns its packed state has."""
        return len(self.aggregate.components)


@dataclass(frozen=True)
class WindowAggregateJob:
    """Keys and calls over one window. The first call counts the rows of a group: it says who is there.

    The first `partition` keys also partition the window itself, where its kind can be partitioned (rows, sessions,
    slide by tuple). `from_first` moves its origin to the first time stamp of the stream.
    """

    keys: tuple[tuple[str, pa.DataType], ...]
    calls: tuple[Call, ...]
    window: Window[Any]
    partition: int = 0
    emit: Emit | None = None
    from_first: bool = False

    @property
    def key_names(self) -> list[str]:
        """The names of the key columns."""
        return [name for name, _ in self.keys]

    def state_names(self, call: int) -> list[str]:
        """The columns of a call's packed state."""
        return [f"__s{call}_{i}" for i in range(self.calls[call].width)]

    @property
    def packed_names(self) -> list[str]:
        """The columns of all packed states."""
        return [name for number in range(len(self.calls)) for name in self.state_names(number)]

    @property
    def results(self) -> pa.Schema:
        """The columns of the answers."""
        return pa.schema([pa.field(name, call.aggregate.result) for call in self.calls for name in call.names])
