"""What first, last, min_by and max_by share: the value that goes with the best key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.codes import Codes, better, coded, decode, encode, fold, is_ordered, unseen
from millstream.aggregates.columns import present, refuse
from millstream.aggregates.contract import Aggregate, Groups, State, Times


class Choice(Aggregate):
    """The first argument of the tuple with the smallest or largest key: its second argument, or its time stamp.

    Where several tuples have that key, the smallest or largest value among theirs is the answer.
    """

    latest: ClassVar[bool]
    largest: ClassVar[bool] = False

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments)
        for kind in self.arguments:
            if not is_ordered(kind):
                refuse(self.name, kind, "types that can be ordered")
        self.kind = self.arguments[0]
        self.key = self.arguments[1] if self.arity == 2 else pa.int64()

    @property
    def result(self) -> pa.DataType:
        """The type of the first argument."""
        return self.kind

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The best key, the value that goes with it, and whether there was any."""
        return (coded(self.key), coded(self.kind), pa.bool_())

    def zero(self, groups: int) -> State:
        """What any key beats."""
        return (
            unseen(self.key, groups, self.latest),
            unseen(self.kind, groups, self.largest),
            np.zeros(groups, dtype=np.bool_),
        )

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """First find the best keys, then look only at the tuples that have them."""
        groups, columns, times = present(groups, arguments, times)
        keys = columns[1] if self.arity == 2 else pa.array(times)
        best, value, seen = state
        before = best.copy()
        fold(best, groups, keys, self.latest)
        value[:] = self._values_at(best, (before, value, seen))
        winners = np.flatnonzero(encode(keys) == best[groups])
        fold(value, groups[winners], columns[0].take(pa.array(winners)), self.largest)
        seen[groups] = True
        return state

    def merge(self, left: State, right: State) -> State:
        """The better key wins; at equal keys, the better value."""
        best = better(left[0], right[0], self.latest)
        value = better(self._values_at(best, left), self._values_at(best, right), self.largest)
        return (best, value, left[2] | right[2])

    def finish(self, state: State) -> pa.Array:
        """The values that go with the best keys."""
        return decode(state[1], state[2], self.kind)

    def _values_at(self, best: Codes, state: State) -> Codes:
        """The values of states that have the best key, and for the others what any value beats."""
        values: Codes = np.where(state[0] == best, state[1], unseen(self.kind, len(best), self.largest))
        return values
