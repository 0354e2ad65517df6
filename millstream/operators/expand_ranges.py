"""Ranges to positions: the pairs of each tuple, from the first of its partners and their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def expand_ranges(begin: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """All positions in some ranges, one range after the other: the number of the range of each, and the position.

    >>> numbers, positions = expand_ranges(np.array([5, 0, 7]), np.array([2, 0, 1]))
    >>> numbers.tolist(), positions.tolist()
    ([0, 0, 2], [5, 6, 7])
    """
    some = np.flatnonzero(counts)
    if len(some) < len(counts):
        begin, counts = begin[some], counts[some]
    if not len(some) or counts.max() == 1:
        return some, begin
    ends = np.cumsum(counts)
    heads = ends[:-1]
    # Both are sums of small steps: that is much faster than to repeat numbers.
    numbers = np.zeros(ends[-1], dtype=np.int64)
    numbers[0], numbers[heads] = some[0], np.diff(some)
    positions = np.ones(ends[-1], dtype=np.int64)
    positions[0], positions[heads] = begin[0], begin[1:] - begin[:-1] - counts[:-1] + 1
    return np.cumsum(numbers, out=numbers), np.cumsum(positions, out=positions)
