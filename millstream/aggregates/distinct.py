"""count, sum and avg of distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.avg import Avg
from millstream.aggregates.contract import Aggregate, State
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

    def finish(self, state: State) -> pa.Array:
        """The plain aggregate over each value once."""
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
