"""count(x): how many arguments are not NULL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import Aggregate, Groups, State, Times


class Count(Aggregate):
    """How many arguments are not NULL.

    >>> count = Count([pa.string()])
    >>> state = count.reduce(count.zero(3), np.array([0, 0, 1]), [pa.array(["a", "b", None])], np.array([1, 2, 3]))
    >>> count.finish(state).to_pylist()
    [2, 0, 0]
    """

    name = "count"

    @property
    def result(self) -> pa.DataType:
        """Always int64."""
        return pa.int64()

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The count."""
        return (pa.int64(),)

    def zero(self, groups: int) -> State:
        """Counts of 0."""
        return (np.zeros(groups, dtype=np.int64),)

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Add one for each argument that is not NULL."""
        if arguments and arguments[0].null_count:
            np.add.at(state[0], groups, np.asarray(arguments[0].is_valid()).astype(np.int64))
        else:
            np.add.at(state[0], groups, 1)
        return state

    def merge(self, left: State, right: State) -> State:
        """Add the counts."""
        return (left[0] + right[0],)

    def remove(self, whole: State, part: State) -> State:
        """Subtract the counts."""
        return (whole[0] - part[0],)

    @property
    def additive(self) -> bool:
        """Counts are exact."""
        return True

    def finish(self, state: State) -> pa.Array:
        """The counts, never NULL."""
        return pa.array(state[0])
