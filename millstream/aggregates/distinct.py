"""count, sum and avg of distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates import number_tally
from millstream.aggregates.avg import Avg
from millstream.aggregates.codes import coded, decode, encode
from millstream.aggregates.columns import present, valued
from millstream.aggregates.contract import Aggregate, Groups, State, Times
from millstream.aggregates.count import Count
from millstream.aggregates.sum import Sum
from millstream.aggregates.tally import Tally


class CountDistinct(Tally):
    """How many different values there are.

    >>> count = CountDistinct([pa.string()])
    >>> values = pa.array(["a", "a", "b", None])
    >>> count.finish(count.reduce(count.zero(2), np.zeros(4, dtype=int), [values], np.arange(4))).to_pylist()
    [2, 0]
    """

    name = "count_distinct"
    plain: ClassVar[type[Aggregate]] = Count

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        self.inner = self.plain(arguments)
        super().__init__(arguments)

    @property
    def result(self) -> pa.DataType:
        """As without distinct."""
        return self.inner.result

    @property
    def _numbers(self) -> bool:
        """Whether values are coded as whole numbers, of which all groups are worked on at once."""
        return bool(coded(self.kind) == pa.int64())

    def zero(self, groups: int) -> State:
        """Empty tallies."""
        return (number_tally.empty(groups),) if self._numbers else super().zero(groups)

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Count the values of each group."""
        if not self._numbers:
            return super().reduce(state, groups, arguments, times)
        groups, (values, *_), _ = present(groups, arguments, times)
        return self.merge(state, (number_tally.counted(groups, encode(values), len(state[0])),))

    def reduce_packed(self, groups: Groups, arguments: Sequence[pa.Array], times: Times, size: int) -> list[pa.Array]:
        """The tallies of so many groups as lists of entries."""
        if not self._numbers:
            return super().reduce_packed(groups, arguments, times, size)
        groups, values = valued(groups, arguments[0])
        return [number_tally.counted_packed(groups, encode(values), size, self.entry)]

    def merge_packed(self, columns: Sequence[pa.Array], groups: Groups, size: int) -> State:
        """Add the counts of all lists of entries of a group."""
        if not self._numbers:
            return super().merge_packed(columns, groups, size)
        return (number_tally.merged_packed(columns[0], groups, size),)

    def merge(self, left: State, right: State) -> State:
        """Add the counts."""
        return (number_tally.added(left[0], right[0]),) if self._numbers else super().merge(left, right)

    def remove(self, whole: State, part: State) -> State:
        """Subtract the counts, and forget what is left with none."""
        return (number_tally.removed(whole[0], part[0]),) if self._numbers else super().remove(whole, part)

    def pack(self, state: State) -> list[pa.Array]:
        """The tallies as lists of entries."""
        return [number_tally.packed(state[0], self.entry)] if self._numbers else super().pack(state)

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """The tallies of lists of entries."""
        return (number_tally.unpacked(columns[0]),) if self._numbers else super().unpack(columns)

    def finish(self, state: State) -> pa.Array:
        """The plain aggregate over each value once."""
        if self.plain is Count:
            return pa.array(np.fromiter(map(len, state[0]), np.int64, len(state[0])))
        if self._numbers:
            groups, codes = number_tally.values_of(state[0])
            values = decode(codes, np.ones(len(codes), dtype=np.bool_), self.kind)
            return self.inner.finish(self.inner.reduce(self.inner.zero(len(state[0])), groups, [values], groups))
        groups = np.repeat(np.arange(len(state[0])), [len(tally) for tally in state[0]])
        values = self.decoded([code for tally in state[0] for code in tally])
        return self.inner.finish(self.inner.reduce(self.inner.zero(len(state[0])), groups, [values], groups))


class SumDistinct(CountDistinct):
    """The total of the different values.

    >>> total = SumDistinct([pa.int64()])
    >>> values = pa.array([5, 5, 6])
    >>> total.finish(total.reduce(total.zero(2), np.zeros(3, dtype=int), [values], np.arange(3))).to_pylist()
    [11, None]
    """

    name = "sum_distinct"
    plain = Sum


class AvgDistinct(CountDistinct):
    """The mean of the different values.

    >>> mean = AvgDistinct([pa.int64()])
    >>> values = pa.array([5, 5, 6])
    >>> mean.finish(mean.reduce(mean.zero(2), np.zeros(3, dtype=int), [values], np.arange(3))).to_pylist()
    [5.5, None]
    """

    name = "avg_distinct"
    plain = Avg
