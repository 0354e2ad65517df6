"""Many states into few: each run of consecutive states becomes one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millstream.aggregates.contract import Aggregate, State, put, take


def merge_runs(aggregate: Aggregate, state: State, starts: npt.NDArray[np.int64]) -> State:
    """The states of the runs that begin at `starts`, which ascend from 0; each run has at least one state.

    Neighbours are merged first, then neighbours of those, and so on: as many rounds as the longest run can be halved,
    all runs at once, and never two states out of their order. The states that are given are left as they are.

    >>> from millstream.aggregates.sum import Sum
    >>> import pyarrow as pa
    >>> total = Sum([pa.int64()])
    >>> state = total.reduce(total.zero(6), np.arange(6), [pa.array([1, 2, 3, 10, 20, 7])], np.zeros(6))
    >>> total.finish(merge_runs(total, state, np.array([0, 3, 5]))).to_pylist()
    [6, 30, 7]
    """
    merged = tuple(component.copy() for component in state)
    begins, lengths = starts, np.diff(starts, append=len(state[0]))
    step = 1
    while (longer := lengths > step).any():
        # A state stands for the `step` states from its place on; of two neighbours the left one takes in the right.
        begins, lengths = begins[longer], lengths[longer]
        pairs = (lengths - 1 - step) // (2 * step) + 1
        nth = np.arange(pairs.sum()) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        left = np.repeat(begins, pairs) + 2 * step * nth
        put(merged, left, aggregate.merge(take(merged, left), take(merged, left + step)))
        step *= 2
    return take(merged, starts)
