"""count(*): how many tuples there are."""

from __future__ import annotations

from millstream.aggregates.count import Count


class CountStar(Count):
    """How many tuples there are, whatever they hold.

    >>> import numpy as np, pyarrow as pa
    >>> count = CountStar([])
    >>> state = count.reduce(count.zero(3), np.array([0, 0, 1]), [], np.array([1, 2, 3]))
    >>> count.finish(count.merge(state, state)).to_pylist()
    [4, 2, 0]
    """

    name = "count_star"
    arity = 0
