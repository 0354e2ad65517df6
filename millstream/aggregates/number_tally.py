"""Tallies of values that are whole numbers, or are coded as such: arrays, worked on for all groups at once.

A tally has a row (value, count) for each value, in the order of values. Tallies are never changed but replaced, so that
states may share them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.aggregates.sorting import in_order

Numbers = npt.NDArray[np.int64]
Tallies = npt.NDArray[np.object_]
"""One array for each group."""

EMPTY = np.zeros((0, 2), np.int64)
ROOM = 4
"""Values that span no more than so many times their count are counted in a table: that beats sorting them."""

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
    return _cut(_counted(groups, values, size), size)


def counted_packed(groups: Numbers, values: Numbers, size: int, entry: pa.DataType) -> pa.Array:
    """The same as lists of entries."""
    lines = _counted(groups, values, size)
    return _listed(lines, _ends(lines, size), entry)


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
    return _listed(_flat(tallies), np.cumsum([0, *map(len, tallies)]), entry)


def unpacked(column: pa.Array) -> Tallies:
    """The tallies of lists of entries. What another version has packed may be in any order."""
    lines = _lines(column, np.arange(len(column)))
    falls = (lines.values[1:] <= lines.values[:-1]) & (lines.groups[1:] == lines.groups[:-1])
    return _cut(_summed(lines, len(column)) if falls.any() else lines, len(column))


def merged_packed(column: pa.Array, groups: Numbers, size: int) -> Tallies:
    """The tallies of so many groups, each with the counts of all lists of entries that bear its number.

    >>> entries = packed(counted(np.array([0, 1]), np.array([5, 5]), 2), pa.struct({"v": pa.int64(), "n": pa.int64()}))
    >>> [t.tolist() for t in merged_packed(entries, np.array([1, 1]), 2)]
    [[], [[5, 2]]]
    """
    lines = _lines(column, groups)
    return _cut(_summed(lines, size), size) if len(lines.values) else empty(size)


def values_of(tallies: Tallies) -> tuple[Numbers, Numbers]:
    """Each value once, and its group."""
    lines = _flat(tallies)
    return lines.groups, lines.values


def _counted(groups: Numbers, values: Numbers, size: int) -> _Lines:
    """A line for each value of a group, in order."""
    if not len(values):
        return _Lines(groups, values, values)
    low, span = _range(values)
    if span * size <= ROOM * len(values):
        counts = np.bincount(values - low if size == 1 else groups * span + (values - low))
        found = np.flatnonzero(counts)
        return _Lines(found // span, found % span + low, counts[found])
    bits = span.bit_length()
    if size << bits >= _MOST:
        return _summed(_Lines(groups, values, np.ones(len(values), np.int64)), size)
    keys = in_order((groups << bits) + (values - low))
    first = _firsts(keys)
    found = keys[first]
    return _Lines(found >> bits, (found & (1 << bits) - 1) + low, np.diff(first, append=len(keys)))


def _together(left: Tallies, right: Tallies, sign: int) -> Tallies:
    if not any(map(len, right)):
        return left
    if sign > 0 and not any(map(len, left)):
        return right
    one, other = _flat(left), _flat(right)
    both = _Lines(*(np.concatenate(pair) for pair in zip(one, other._replace(counts=sign * other.counts), strict=True)))
    lines = _summed(both, len(left))
    if sign < 0:
        lines = _Lines(*(part[lines.counts != 0] for part in lines))
    return _cut(lines, len(left))


def _summed(lines: _Lines, size: int) -> _Lines:
    """One line for each value of a group, in order."""
    (low, span), (least, most) = _range(lines.values), _range(lines.counts)
    bits, below = span.bit_length(), most.bit_length()
    if size << bits + below < _MOST:
        # To sort numbers is much faster than to find the order of them: so the counts go along in the same numbers.
        keys = lines.groups << bits
        keys += lines.values - low
        keys <<= below
        keys += lines.counts - least
        keys = in_order(keys)
        counts = (keys & (1 << below) - 1) + least
        keys >>= below
        first = _firsts(keys)
        found = keys[first]
        return _Lines(found >> bits, (found & (1 << bits) - 1) + low, np.add.reduceat(counts, first))
    order = np.lexsort((lines.values, lines.groups))
    groups, values, counts = (part[order] for part in lines)
    first = np.flatnonzero(np.concatenate(([True], (values[1:] != values[:-1]) | (groups[1:] != groups[:-1]))))
    return _Lines(groups[first], values[first], np.add.reduceat(counts, first))


def _range(values: Numbers) -> tuple[int, int]:
    """The lowest number, and how many there are from it to the highest."""
    low = int(values.min())
    return low, int(values.max()) - low + 1


def _firsts(keys: Numbers) -> Numbers:
    """Where another number begins."""
    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))


def _lines(column: pa.Array, groups: Numbers) -> _Lines:
    values, counts = (part.to_numpy(zero_copy_only=False).astype(np.int64) for part in column.flatten().flatten())
    return _Lines(np.repeat(groups, column.value_lengths().to_numpy(zero_copy_only=False)), values, counts)


def _listed(lines: _Lines, ends: Numbers, entry: pa.DataType) -> pa.Array:
    columns = [pa.array(column).cast(field.type) for column, field in zip(lines[1:], entry, strict=True)]
    entries = pa.StructArray.from_arrays(columns, fields=list(entry))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), entries)


def _flat(tallies: Tallies) -> _Lines:
    lengths = np.fromiter(map(len, tallies), np.int64, len(tallies))
    lines = np.concatenate([EMPTY, *tallies])
    return _Lines(np.repeat(np.arange(len(tallies)), lengths), lines[:, 0], lines[:, 1])


def _ends(lines: _Lines, size: int) -> Numbers:
    """Where the lines of each group begin, and the end of all."""
    return np.searchsorted(lines.groups, np.arange(size + 1))


def _cut(lines: _Lines, size: int) -> Tallies:
    table = np.column_stack((lines.values, lines.counts))
    ends = _ends(lines, size).tolist()
    # Copied, or the tally of one group would keep those of all others in memory for as long as it lives.
    return _tallies([table[begin:end].copy() for begin, end in pairwise(ends)])


def _tallies(parts: list[Any]) -> Tallies:
    found = np.empty(len(parts), dtype=object)
    for place, part in enumerate(parts):  # numpy would make one array of parts that are equally long
        found[place] = part
    return found
