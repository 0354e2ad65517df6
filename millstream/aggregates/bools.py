"""bool_and(x) and bool_or(x)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from millstream.aggregates.columns import Bools, nullable, refuse, valued
from millstream.aggregates.contract import Aggregate, Groups, State, Times


class BoolAnd(Aggregate):
    """Whether all values are true; NULL of nothing.

    The state is a count of each, so that parts can be taken out again.

    >>> every = BoolAnd([pa.bool_()])
    >>> values = pa.array([True, False, True])
    >>> every.finish(every.reduce(every.zero(3), np.array([0, 0, 1]), [values], np.arange(3))).to_pylist()
    [False, True, None]
    """

    name = "bool_and"

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments)
        if not pt.is_boolean(self.arguments[0]):
            refuse(self.name, self.arguments[0], "a boolean")

    @property
    def result(self) -> pa.DataType:
        """Always bool."""
        return pa.bool_()

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """How many were false, and how many true."""
        return (pa.int64(), pa.int64())

    def zero(self, groups: int) -> State:
        """No values."""
        return (np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64))

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Count each value."""
        groups, column = valued(groups, arguments[0])
        values: Bools = column.to_numpy(zero_copy_only=False)
        np.add.at(state[0], groups, (~values).astype(np.int64))
        np.add.at(state[1], groups, values.astype(np.int64))
        return state

    def merge(self, left: State, right: State) -> State:
        """Add the counts."""
        return (left[0] + right[0], left[1] + right[1])

    def remove(self, whole: State, part: State) -> State:
        """Subtract the counts."""
        return (whole[0] - part[0], whole[1] - part[1])

    @property
    def additive(self) -> bool:
        """Counts are exact."""
        return True

    def finish(self, state: State) -> pa.Array:
        """Whether none was false."""
        return nullable(state[0] == 0, state[0] + state[1] > 0, self.result)


class BoolOr(BoolAnd):
    """Whether any value is true; NULL of nothing.

    >>> some = BoolOr([pa.bool_()])
    >>> values = pa.array([True, False, False])
    >>> some.finish(some.reduce(some.zero(3), np.array([0, 0, 1]), [values], np.arange(3))).to_pylist()
    [True, False, None]
    """

    name = "bool_or"

    def finish(self, state: State) -> pa.Array:
        """Whether one was true."""
        return nullable(state[1] > 0, state[0] + state[1] > 0, self.result)
