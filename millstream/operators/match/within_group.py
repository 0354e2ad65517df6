"""The registrations of a group that a value meets: all of them, those on one side of it, or those around it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.operators.match.interval_tree import IntervalTree, Ranges
from millstream.operators.match.ranks import Ranks

Numbers = npt.NDArray[np.int64]

End = tuple[pa.Array, bool]
"""One end of the ranges of registrations, and whether it is in them."""


class WithinGroup(Protocol):
    """Finds registrations by group, and by value if they have ranges; `members` are their places."""

    members: Numbers

    def ranges(self, groups: Numbers, values: pa.Array | None) -> list[Ranges]:
        """The members for each tuple, in one list or in several."""
        ...


def within_group(groups: Numbers, count: int, above: End | None, below: End | None) -> WithinGroup:
    """What finds registrations in these groups; ranges with NULL at an end are met by nothing."""
    if above is not None and below is not None:
        return _Around(groups, above, below)
    if above is not None or below is not None:
        return _OneSide(groups, count, above, below)
    return _All(groups, count)


class _All:
    """All registrations of the group."""

    def __init__(self, groups: Numbers, count: int) -> None:
        some = np.flatnonzero(groups >= 0)
        self.members: Numbers = some[np.argsort(groups[some], kind="stable")]
        self._sizes = np.append(np.bincount(groups[some], minlength=count), 0)
        self._begins = np.cumsum(self._sizes) - self._sizes

    def ranges(self, groups: Numbers, values: pa.Array | None) -> list[Ranges]:
        """A tuple without a group, which is the last one here, meets none."""
        return [(self._begins[groups], self._sizes[groups])]


class _OneSide:
    """Registrations in the order of their bounds: those met by a value are at one end of their group."""

    def __init__(self, groups: Numbers, count: int, above: End | None, below: End | None) -> None:
        ends, self._inclusive = above or below or (pa.array([]), False)
        self._above = above is not None
        self._ranks = Ranks(ends)
        self._width = self._ranks.count + 1
        ranks = self._ranks.of(ends)
        some = np.flatnonzero((groups >= 0) & (ranks >= 0))
        keys = groups[some] * self._width + ranks[some]
        order = np.argsort(keys, kind="stable")
        self.members: Numbers = some[order]
        self._keys = keys[order]
        self._borders = np.searchsorted(self._keys, np.arange(count + 1) * self._width)

    def ranges(self, groups: Numbers, values: pa.Array | None) -> list[Ranges]:
        """From one border of the group to the value."""
        less, most = self._ranks.place(values)
        # A bound is below the value if its rank is less than this.
        cut = np.searchsorted(self._keys, groups * self._width + (most if self._above is self._inclusive else less))
        begins, ends = (self._borders[groups], cut) if self._above else (cut, self._borders[groups + 1])
        met = (groups >= 0) & (less >= 0)
        return [(np.where(met, begins, 0), np.where(met, ends - begins, 0))]


class _Around:
    """Registrations with two bounds, as intervals of their group.

    In a group, the place of a value that is a bound is an odd number, and an even one lies between two bounds.
    """

    def __init__(self, groups: Numbers, above: End, below: End) -> None:
        self._ranks = Ranks(pa.concat_arrays([above[0], below[0]]))
        self._width = 2 * self._ranks.count + 2
        low, high = self._ranks.of(above[0]), self._ranks.of(below[0])
        some = np.flatnonzero((groups >= 0) & (low >= 0) & (high >= 0))
        starts = groups[some] * self._width + 2 * low[some] + (1 if above[1] else 2)
        ends = groups[some] * self._width + 2 * high[some] + (2 if below[1] else 1)
        self._tree = IntervalTree(starts, ends)
        self.members: Numbers = some[self._tree.members]

    def ranges(self, groups: Numbers, values: pa.Array | None) -> list[Ranges]:
        """Those of the intervals that hold the value; a tuple without a group lies before all of them."""
        less, most = self._ranks.place(values)
        points = groups * self._width + 2 * less + (most > less)
        return self._tree.ranges(np.where((groups >= 0) & (less >= 0), points, -1))
