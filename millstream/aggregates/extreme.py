"""The base of min and max."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.codes import better, coded, decode, fold, is_ordered, unseen
from millstream.aggregates.columns import refuse, valued
from millstream.aggregates.contract import Aggregate, Groups, State, Times


class Extreme(Aggregate):
    """The smallest or the largest value, of the type of the argument; NULL of nothing."""

    largest: ClassVar[bool]

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments)
        (self.kind,) = self.arguments
        if not is_ordered(self.kind):
            refuse(self.name, self.kind, "a type that can be ordered")

    @property
    def result(self) -> pa.DataType:
        """The type of the argument."""
        return self.kind

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The code of the best value, and whether there was any."""
        return (coded(self.kind), pa.bool_())

    def zero(self, groups: int) -> State:
        """What any value beats."""
        return (unseen(self.kind, groups, self.largest), np.zeros(groups, dtype=np.bool_))

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Let better values win."""
        groups, values = valued(groups, arguments[0])
        fold(state[0], groups, values, self.largest)
        state[1][groups] = True
        return state

    def merge(self, left: State, right: State) -> State:
        """The better of the two."""
        return (better(left[0], right[0], self.largest), left[1] | right[1])

    def finish(self, state: State) -> pa.Array:
        """The best values."""
        return decode(state[0], state[1], self.kind)
