"""Intervals that hold a point: a segment tree over their ends, built and asked for many points at once.

Each interval is cut into a few pieces, one for each node of the tree that it covers as a whole. The intervals that
hold a point are those at the nodes above it: as many steps as the tree is high, and nothing is looked at in vain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

Ranges = tuple[Numbers, Numbers]
"""For each point where its members begin in a list, and how many there are."""


class IntervalTree:
    """Intervals from a start to an end, which is not in them, by their places; empty ones are found by no point.

    >>> tree = IntervalTree(np.array([0, 5, 3]), np.array([10, 6, 3]))
    >>> for begins, counts in tree.ranges(np.array([5, 9, 10])):
    ...     print([tree.members[b : b + c].tolist() for b, c in zip(begins, counts)])
    [[1], [], []]
    [[0], [0], []]
    """

    def __init__(self, starts: Numbers, ends: Numbers) -> None:
        some = np.flatnonzero(starts < ends)
        self._ends = np.unique(np.concatenate([starts[some], ends[some]]))
        # Slot k reaches from the end k - 1 to the end k.
        self._size = 1 << len(self._ends).bit_length()
        low = np.searchsorted(self._ends, starts[some]) + 1 + self._size
        high = np.searchsorted(self._ends, ends[some]) + 1 + self._size
        nodes: list[Numbers] = []
        members: list[Numbers] = []
        while len(some):
            left, right = (low & 1).astype(bool), (high & 1).astype(bool)
            nodes += [low[left], high[right] - 1]
            members += [some[left], some[right]]
            low, high = (low + 1) >> 1, high >> 1
            rest = low < high
            some, low, high = some[rest], low[rest], high[rest]
        at = np.concatenate(nodes) if nodes else np.empty(0, dtype=np.int64)
        order = np.argsort(at, kind="stable")
        self.members: Numbers = (np.concatenate(members) if members else at)[order]
        sizes = np.bincount(at, minlength=2 * self._size)
        self._begins = np.cumsum(sizes) - sizes
        self._counts = sizes
        self._steps = [step for step in range(self._size.bit_length()) if sizes[self._level(step)].any()]

    def _level(self, step: int) -> slice:
        """The nodes that are so many steps above the slots."""
        return slice(self._size >> step, (self._size >> step) << 1)

    def ranges(self, points: Numbers) -> list[Ranges]:
        """For each level of the tree, which members hold each point."""
        slots = np.searchsorted(self._ends, points, "right") + self._size
        return [(self._begins[slots >> step], self._counts[slots >> step]) for step in self._steps]
