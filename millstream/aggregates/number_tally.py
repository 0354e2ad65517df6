"""Tallies of values that are whole numbers, or are coded as such: arrays, worked on for all groups at once.

A tally has a row (value, count) for each value, in the order of values. Tallies are never changed but replaced, so that
states may share them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Tallies = npt.NDArray[np.object_]
"""One array for each group."""

EMPTY = np.zeros((0, 2), np.int64)
_MOST = 2**62


class _Lines(NamedTuple):
    """All lines of some tallies: the group, the value and the count of each."""

    groups: Numbers
    values: Numbers
    counts: Numbers


def empty(groups: int) -> Tallies:
    """Tallies without values."""
    return _tallies([EMPTY] * groups)


def counted(groups: Numbers, values: Numbers, size: int) -> Tallies:
    """The tallies of so many groups.

    >>> [t.tolist() for t in counted(np.array([1, 0, 1, 1]), np.array([7, 5, 6, 7]), 2)]
    [[[5, 1]], [[6, 1], [7, 2]]]
    """
    if not len(values):
        return empty(size)
    low, span = int(values.min()), int(values.max()) - int(values.min()) + 1
    if span * size < _MOST:
        keys = np.sort(groups * span + (values - low))
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        found = keys[first]
        lines = _Lines(found // span, found % span + low, np.diff(first, append=len(keys)))
    else:
        lines = _summed(_Lines(groups, values, np.ones(len(values), np.int64)), size)
    return _cut(lines, size)


def added(left: Tallies, right: Tallies) -> Tallies:
    """Tallies with the counts of both.

    >>> two = counted(np.array([0, 1]), np.array([5, 6]), 2)
    >>> [t.tolist() for t in added(two, counted(np.array([0]), np.array([5]), 2))]
    [[[5, 2]], [[6, 1]]]
    """
    return _together(left, right, 1)


def removed(whole: Tallies, part: Tallies) -> Tallies:
    """Tallies less the counts of others; what is left with none is forgotten.

    >>> two = counted(np.array([0, 1]), np.array([5, 6]), 2)
    >>> [t.tolist() for t in removed(two, counted(np.array([0]), np.array([5]), 2))]
    [[], [[6, 1]]]
    """
    return _together(whole, part, -1)


def packed(tallies: Tallies, entry: pa.DataType) -> pa.Array:
    """The tallies as lists of entries."""
    lines = _flat(tallies)
    columns = [pa.array(column).cast(field.type) for column, field in zip(lines[1:], entry, strict=True)]
    ends = np.cumsum([0, *map(len, tallies)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.StructArray.from_arrays(columns, fields=list(entry)))


def unpacked(column: pa.Array) -> Tallies:
    """The tallies of lists of entries. What another version has packed may be in any order."""
    values, counts = (part.to_numpy(zero_copy_only=False).astype(np.int64) for part in column.flatten().flatten())
    groups = np.repeat(np.arange(len(column)), column.value_lengths().to_numpy(zero_copy_only=False))
    lines = _Lines(groups, values, counts)
    falls = (values[1:] <= values[:-1]) & (groups[1:] == groups[:-1])
    return _cut(_summed(lines, len(column)) if falls.any() else lines, len(column))


def values_of(tallies: Tallies) -> tuple[Numbers, Numbers]:
    """Each value once, and its group."""
    lines = _flat(tallies)
    return lines.groups, lines.values


def _together(left: Tallies, right: Tallies, sign: int) -> Tallies:
    one, other = _flat(left), _flat(right)
    if not len(other.values):
        return left
    if not len(one.values) and sign > 0:
        return right
    both = _Lines(*(np.concatenate(pair) for pair in zip(one, other._replace(counts=sign * other.counts), strict=True)))
    lines = _summed(both, len(left))
    if sign < 0:
        lines = _Lines(*(part[lines.counts != 0] for part in lines))
    return _cut(lines, len(left))


def _summed(lines: _Lines, size: int) -> _Lines:
    """One line for each value of a group, in order."""
    low, span = int(lines.values.min()), int(lines.values.max()) - int(lines.values.min()) + 1
    if span * size < _MOST:
        # Two runs that are in order each, as a rule: a stable sort only merges them.
        order = np.argsort(lines.groups * span + (lines.values - low), kind="stable")
    else:
        order = np.lexsort((lines.values, lines.groups))
    groups, values, counts = (part[order] for part in lines)
    first = np.flatnonzero(np.concatenate(([True], (values[1:] != values[:-1]) | (groups[1:] != groups[:-1]))))
    return _Lines(groups[first], values[first], np.add.reduceat(counts, first))


def _flat(tallies: Tallies) -> _Lines:
    lengths = np.fromiter(map(len, tallies), np.int64, len(tallies))
    lines = np.concatenate([EMPTY, *tallies])
    return _Lines(np.repeat(np.arange(len(tallies)), lengths), lines[:, 0], lines[:, 1])


def _cut(lines: _Lines, size: int) -> Tallies:
    table = np.column_stack((lines.values, lines.counts))
    ends = np.searchsorted(lines.groups, np.arange(size + 1))
    # Copied, or the tally of one group would keep those of all others in memory for as long as it lives.
    return _tallies([table[begin:end].copy() for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)])


def _tallies(parts: list[Any]) -> Tallies:
    found = np.empty(len(parts), dtype=object)
    for place, part in enumerate(parts):  # numpy would make one array of parts that are equally long
        found[place] = part
    return found
