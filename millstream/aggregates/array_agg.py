"""array_agg(x): all values in a list."""

from __future__ import annotations

from itertools import accumulate, chain

import pyarrow as pa

from millstream.aggregates.contract import State
from millstream.aggregates.tally import Tally


class ArrayAgg(Tally):
    """All values that are not NULL, in the order of time and then arrival; an empty list of nothing, as in Spark.

    >>> import numpy as np
    >>> array = ArrayAgg([pa.int64()])
    >>> values, times = pa.array([3, 2, None, 1]), np.array([2, 2, 1, 3])
    >>> array.finish(array.reduce(array.zero(2), np.zeros(4, dtype=int), [values], times)).to_pylist()
    [[2, 3, 1], []]
    """

    name = "array_agg"
    timed = True
    by_order = True

    @property
    def result(self) -> pa.DataType:
        """A list of the type of the argument."""
        return pa.list_(self.kind)

    def finish(self, state: State) -> pa.Array:
        """The lists."""
        lists = list(self.in_order(state))
        offsets = pa.array(accumulate(map(len, lists), initial=0), type=pa.int32())
        return pa.ListArray.from_arrays(offsets, self.decoded(list(chain.from_iterable(lists))), type=self.result)
