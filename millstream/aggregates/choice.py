"""The base of first, last, min_by and max_by: the value that goes with the best key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.codes import Codes, better, coded, decode, encode, fold, is_ordered, unseen
from millstream.aggregates.columns import Bools, refuse
from millstream.aggregates.contract import Aggregate, Groups, Numbers, State, Times

ARRIVAL = pa.int64()


class Choice(Aggregate):
    """The first argument of the tuple with the smallest or largest key: its second argument, or its time stamp.

    Of several tuples with that key the earliest or the latest that arrived is taken. If nothing is known of that, it
    is the one with the smallest or largest value. A tuple whose value is NULL counts, as in Spark; one whose key is
    NULL does not.
    """

    latest: ClassVar[bool]
    newest: ClassVar[bool] = True
    largest: ClassVar[bool] = False
    by_order = True

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
        """The best key, the number of the tuple that has it, its value, and whether that is not NULL."""
        return (coded(self.key), ARRIVAL, coded(self.kind), pa.bool_())

    def zero(self, groups: int) -> State:
        """What any tuple beats."""
        return (
            unseen(self.key, groups, self.latest),
            unseen(ARRIVAL, groups, self.newest),
            unseen(self.kind, groups, self.largest),
            np.zeros(groups, dtype=np.bool_),
        )

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """First find the best keys, then among the tuples that have them the numbers, then the values."""
        keys = arguments[1] if self.arity == 2 else pa.array(times)
        places = np.flatnonzero(keys.is_valid()) if keys.null_count else np.arange(len(groups))
        keys = keys.take(pa.array(places)) if keys.null_count else keys
        best, number, value, valid = state
        old = best.copy(), number.copy()
        fold(best, groups[places], keys, self.latest)
        number[:] = np.where(best == old[0], number, unseen(ARRIVAL, len(best), self.newest))
        places = places[encode(keys) == best[groups[places]]]
        arrived = arguments[-1].take(pa.array(places)) if self.arriving else pa.array(np.zeros(len(places), np.int64))
        fold(number, groups[places], arrived, self.newest)
        places = places[encode(arrived) == number[groups[places]]]
        still = (best == old[0]) & (number == old[1])
        value[:] = np.where(still, value, unseen(self.kind, len(best), self.largest))
        valid &= still
        values = arguments[0].take(pa.array(places))
        places = places[np.asarray(values.is_valid())]
        fold(value, groups[places], values.drop_null(), self.largest)
        valid[groups[places]] = True
        return state

    def merge(self, left: State, right: State) -> State:
        """The better key wins, at equal keys the better number, and then the better value."""
        best = better(left[0], right[0], self.latest)
        ours, theirs = left[0] == best, right[0] == best
        none = unseen(ARRIVAL, len(best), self.newest)
        number = better(np.where(ours, left[1], none), np.where(theirs, right[1], none), self.newest)
        ours, theirs = ours & (left[1] == number), theirs & (right[1] == number)
        mine, other = self._values(left, ours), self._values(right, theirs)
        return (best, number, better(mine, other, self.largest), (ours & left[3]) | (theirs & right[3]))

    def finish(self, state: State) -> pa.Array:
        """The values that go with the best keys."""
        return decode(state[2], state[3], self.kind)

    def renumbered(self, columns: Sequence[pa.Array], number: Callable[[Numbers], Numbers]) -> list[pa.Array]:
        """The states with other numbers, but for those that have seen nothing."""
        best, numbers, *rest = columns
        known = numbers.to_numpy().copy()
        seen = known != unseen(ARRIVAL, 1, self.newest)[0]
        known[seen] = number(known[seen])
        return [best, pa.array(known), *rest]

    def _values(self, state: State, wins: Bools) -> Codes:
        """The values of states that win, and for the others what any value beats."""
        values: Codes = np.where(wins & state[3], state[2], unseen(self.kind, len(wins), self.largest))
        return values
