"""Registrations that were indexed together: for a tuple, where those are that it meets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.match.interval_tree import Ranges
from millstream.operators.match.key_groups import KeyGroups
from millstream.operators.match.patterns import heads
from millstream.operators.match.terms import Bound, MatchTerms
from millstream.operators.match.within_group import End, WithinGroup, within_group

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """What tuples offer to the terms: their keys, the value of the range, and the text whose prefix is asked for."""

    rows: int
    keys: tuple[pa.Array, ...]
    value: pa.Array | None
    text: pa.Array | None

    @staticmethod
    def of(terms: MatchTerms, tuples: pa.Table) -> Asked:
        """Compute it, once for all segments."""
        keys = tuple(ours(tuples) for ours, _ in terms.equal)
        value = terms.range.value(tuples) if terms.range is not None else None
        text = terms.prefix.text(tuples).cast(pa.binary()) if terms.prefix is not None else None
        return Asked(tuples.num_rows, keys, value, text)

    def slice(self, begin: int, end: int) -> Asked:
        """The same of some of the tuples."""
        keys = tuple(key.slice(begin, end - begin) for key in self.keys)
        value = None if self.value is None else self.value.slice(begin, end - begin)
        text = None if self.text is None else self.text.slice(begin, end - begin)
        return Asked(end - begin, keys, value, text)


@dataclass(frozen=True)
class _Part:
    """The registrations of a segment whose prefixes have one length; without prefixes all are in one part."""

    groups: KeyGroups
    within: WithinGroup
    length: int | None


class Segment:
    """Some registrations, given as a table, whose numbers among all begin at `first`; `members` are such numbers."""

    def __init__(self, terms: MatchTerms, table: pa.Table, first: int) -> None:
        self.first, self.rows = first, int(table.num_rows)
        keys = [theirs(table) for _, theirs in terms.equal]
        above, below = (_end(bound, table) for bound in _bounds(terms))
        if terms.prefix is None:
            self._parts = [_part(keys, above, below, self.rows, None)]
            members = [self._parts[0].within.members]
        else:
            prefixes = heads(terms.prefix.parameter(table), terms.prefix.suffix)
            lengths = pc.fill_null(pc.binary_length(prefixes), -1).to_numpy(zero_copy_only=False)
            self._parts, members = [], []
            for length in np.unique(lengths[lengths >= 0]).tolist():
                some = np.flatnonzero(lengths == length)
                at = pa.array(some)
                ends = [None if end is None else (end[0].take(at), end[1]) for end in (above, below)]
                part = _part([key.take(at) for key in (*keys, prefixes)], ends[0], ends[1], len(some), length)
                self._parts.append(part)
                members.append(some[part.within.members])
        sizes = [len(each) for each in members]
        self._offsets = np.cumsum([0, *sizes])
        self.members: Numbers = np.concatenate(members or [np.empty(0, dtype=np.int64)]).astype(np.int64) + first

    def ranges(self, asked: Asked) -> list[Ranges]:
        """For each tuple where the registrations that it meets are among the members."""
        found: list[Ranges] = []
        for part, offset in zip(self._parts, self._offsets.tolist(), strict=False):
            keys = list(asked.keys)
            if part.length is not None and asked.text is not None:
                keys.append(pc.binary_slice(asked.text, 0, part.length))
            groups = part.groups.find(keys, asked.rows)
            found += [(begins + offset, counts) for begins, counts in part.within.ranges(groups, asked.value)]
        return found


def _part(keys: list[pa.Array], above: End | None, below: End | None, rows: int, length: int | None) -> _Part:
    groups = KeyGroups(keys, rows)
    return _Part(groups, within_group(groups.numbers, groups.count, above, below), length)


def _bounds(terms: MatchTerms) -> tuple[Bound | None, Bound | None]:
    return (None, None) if terms.range is None else (terms.range.above, terms.range.below)


def _end(bound: Bound | None, table: pa.Table) -> End | None:
    return None if bound is None else (bound.parameter(table), bound.inclusive)
