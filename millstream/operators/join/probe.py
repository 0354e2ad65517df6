"""Probes the tuples of one slice for partners in another, by equal keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from millstream.operators.expand_ranges import expand_ranges
from millstream.operators.join.keys import Bools, Numbers, same_keys
from millstream.operators.join.slice import Slice, gathered

FEW = 16
"""So many candidates per tuple are looked at one by one; if there are more, their times are searched."""

MOST_PAIRS = 1 << 20
"""About so many pairs are made at once, so that memory is needed for these only."""


class Hits(NamedTuple):
    """For some tuples the ranges [begin, end) of their candidates in a slice.

    `times` and `keys` say what of the candidates is still to be checked, one by one.
    """

    tuples: Numbers
    begin: Numbers
    end: Numbers
    times: bool
    keys: bool

    @property
    def sure(self) -> bool:
        """Whether candidates are partners."""
        return not self.times and not self.keys


class Seekers:
    """Tuples that look for partners, and the times of these: [first, last]."""

    def __init__(self, tuples: Slice, bounds: tuple[Numbers, Numbers]) -> None:
        self.tuples = tuples
        self.first, self.last = bounds
        self._oldest, self._newest = int(self.first.min()), int(self.last.max())

    def near(self, other: Slice) -> bool:
        """Whether any partner may be there, as far as times go."""
        return self._oldest <= other.newest and self._newest >= other.oldest

    def hits(self, other: Slice, wanted: Bools | None = None) -> Hits | None:
        """Where the partners of all tuples, or of those that are wanted, may be; None if there are none."""
        tuples = self.tuples
        at = np.minimum(np.searchsorted(other.distinct, tuples.distinct), len(other.distinct) - 1)
        hit = other.distinct[at] == tuples.distinct
        clean = tuples.clean and other.clean
        if clean and not tuples.exact:
            known = np.flatnonzero(hit)
            hit[known] = same_keys(tuples.keys, tuples.starts[known], other.keys, other.starts[at[known]])
        found = hit[tuples.groups] & (self.first <= other.newest) & (self.last >= other.oldest)
        if wanted is not None:
            found &= wanted
        rows = np.flatnonzero(found)
        if not len(rows):
            return None
        groups = at[tuples.groups[rows]]
        begin = other.starts[groups]
        size = other.sizes[groups]
        first, last = self.first[rows], self.last[rows]
        if int(first.max()) <= other.oldest and int(last.min()) >= other.newest:
            return Hits(rows, begin, begin + size, times=False, keys=not clean)
        if int(size.sum()) <= FEW * len(rows):
            return Hits(rows, begin, begin + size, times=True, keys=not clean)
        begin, end = other.narrowed(groups, first, last)
        some = end > begin
        return Hits(rows[some], begin[some], end[some], times=False, keys=not clean) if some.any() else None

    def pairs(self, other: Slice, hits: Hits) -> Iterator[tuple[Numbers, Numbers]]:
        """The positions of the partners, in parts: of the tuples, and of those in the slice."""
        counts = hits.end - hits.begin
        ends = np.cumsum(counts)
        begin = 0
        while begin < len(counts):
            done = int(ends[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(ends, done + MOST_PAIRS, side="right")), begin + 1)
            numbers, there = expand_ranges(hits.begin[begin:end], counts[begin:end])
            at = hits.tuples[begin:end][numbers]
            if hits.times:
                times = gathered(other.times, there)
                keep = (times >= gathered(self.first, at)) & (times <= gathered(self.last, at))
                at, there = at[keep], there[keep]
            if hits.keys:
                keep = same_keys(self.tuples.keys, at, other.keys, there)
                at, there = at[keep], there[keep]
            if len(at):
                yield at, there
            begin = end


def covered(hits: Hits, size: int) -> Numbers:
    """The positions in a slice of so many tuples that are in any of the ranges."""
    counts = hits.end - hits.begin
    if int(counts.sum()) < size:
        return np.unique(expand_ranges(hits.begin, counts)[1])
    edges = np.bincount(hits.begin, minlength=size + 1) - np.bincount(hits.end, minlength=size + 1)
    return np.flatnonzero(np.cumsum(edges[:size]) > 0)
