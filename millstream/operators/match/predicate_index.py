"""The predicate index: registrations by what they ask for, so that a tuple finds those that it meets.

Registrations are kept in segments, each indexed as a whole. New ones make a segment, and small segments are merged, so
that there are few, and each registration is indexed anew only a few times [Chandrasekaran 2002, section 4.2.2].
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.reads import reads
from millstream.operators.expand_ranges import expand_ranges
from millstream.operators.match.patterns import keeps, patterned
from millstream.operators.match.segment import Asked, Segment
from millstream.operators.match.terms import MatchTerms

Numbers = npt.NDArray[np.int64]

ID = "__registration"
"""The column with the number of a registration: numbers grow, and are never given twice."""

MOST_PAIRS = 1 << 18
"""So many pairs of a tuple and a registration are made at once."""

MOST_RANGES = 1 << 22
"""So many places are looked at, at once: tuples times the lists in which they find registrations."""

GROWTH = 2
"""A segment is merged with the one before unless that has so many times its rows."""


class PredicateIndex:
    """The registrations of a condition, and which of them each tuple meets."""

    def __init__(self, terms: MatchTerms, schema: pa.Schema) -> None:
        self._terms = terms
        self.rows: pa.Table = schema.empty_table()
        self._segments: list[Segment] = []
        self._alive: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self._patterned: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)

    def add(self, registrations: pa.Table) -> None:
        """Take in more registrations; their numbers are greater than all before."""
        if (alone := self._terms.alone) is not None:
            registrations = registrations.filter(pc.fill_null(alone(registrations), False))
        if not registrations.num_rows:
            return
        first = self.rows.num_rows
        self.rows = pa.concat_tables([self.rows, registrations.cast(self.rows.schema)]).combine_chunks()
        self._alive = np.append(self._alive, np.ones(registrations.num_rows, dtype=np.bool_))
        while self._segments and self._segments[-1].rows <= GROWTH * (self.rows.num_rows - first):
            first = self._segments.pop().first
        self._index(first)

    def remove(self, numbers: Numbers) -> None:
        """Forget registrations, by their numbers; those that are not known are passed over."""
        ids = self.rows[ID].to_numpy()
        places = np.searchsorted(ids, numbers)
        within = places < len(ids)
        places, numbers = places[within], numbers[within]
        self._alive[places[ids[places] == numbers]] = False
        if 2 * np.count_nonzero(self._alive) < len(self._alive):
            self.rows = self.rows.filter(pa.array(self._alive)).combine_chunks()
            self._alive = np.ones(self.rows.num_rows, dtype=np.bool_)
            self._segments = []
            self._patterned = self._patterned[:0]
            if self.rows.num_rows:
                self._index(0)

    def pairs(self, tuples: pa.Table) -> Iterator[tuple[Numbers, Numbers]]:
        """Which tuples meet which registrations: rows of both, in the order of the tuples, some at a time."""
        if not self._segments or not tuples.num_rows:
            return
        asked = Asked.of(self._terms, tuples)
        members = np.concatenate([segment.members for segment in self._segments])
        offsets = np.cumsum([0, *(len(segment.members) for segment in self._segments)]).tolist()
        begin, step = 0, 1 << 10
        while begin < tuples.num_rows:
            part = asked.slice(begin, min(begin + step, tuples.num_rows))
            ranges = [
                (begins + offset, counts)
                for segment, offset in zip(self._segments, offsets, strict=False)
                for begins, counts in segment.ranges(part)
            ]
            if ranges:
                for ours, theirs in _expanded(ranges):
                    found = ours + begin, members[theirs]
                    yield self._checked(tuples, *found)
            begin += part.rows
            step = max(min(MOST_RANGES // max(len(ranges), 1), 1 << 17), 1)

    def _index(self, first: int) -> None:
        table = self.rows.slice(first)
        self._segments.append(Segment(self._terms, table, first))
        prefix = self._terms.prefix
        if prefix is not None and prefix.suffix is not None:
            self._patterned = np.append(self._patterned[:first], patterned(prefix.parameter(table), prefix.suffix))

    def _checked(self, tuples: pa.Table, ours: Numbers, theirs: Numbers) -> tuple[Numbers, Numbers]:
        """The pairs of registrations that still hold, for which all other terms are true."""
        if not self._alive.all():
            some = self._alive[theirs]
            ours, theirs = ours[some], theirs[some]
        prefix = self._terms.prefix
        if prefix is not None and prefix.suffix is not None and (signs := self._patterned[theirs]).any():
            pairs = self._joined(tuples, ours, theirs)
            some = keeps(prefix.text(pairs), prefix.parameter(pairs), prefix.suffix, signs)
            ours, theirs = ours[some], theirs[some]
        if self._terms.rest is not None and len(ours):
            holds = self._terms.rest(self._joined(tuples, ours, theirs, reads(self._terms.rest)))
            some = pc.fill_null(holds, False).to_numpy(zero_copy_only=False)
            ours, theirs = ours[some], theirs[some]
        return ours, theirs

    def _joined(self, tuples: pa.Table, ours: Numbers, theirs: Numbers, read: frozenset[str] | None = None) -> pa.Table:
        """The pairs with the columns of both, or those that are read."""
        left, right = (
            t if read is None else t.select([n for n in t.column_names if n in read]) for t in (tuples, self.rows)
        )
        one, other = left.take(pa.array(ours)), right.take(pa.array(theirs))
        return pa.table([*one.columns, *other.columns], names=[*one.column_names, *other.column_names])


def _expanded(ranges: list[tuple[Numbers, Numbers]]) -> Iterator[tuple[Numbers, Numbers]]:
    """Tuples and places of members, tuple by tuple; as many tuples at once as have few enough pairs."""
    begins = np.stack([begin for begin, _ in ranges], axis=1)
    counts = np.stack([count for _, count in ranges], axis=1)
    ends = np.cumsum(counts.sum(axis=1))
    row, done = 0, 0
    while row < len(ends):
        until = max(int(np.searchsorted(ends, done + MOST_PAIRS, "right")), row + 1)
        at, places = expand_ranges(begins[row:until].ravel(), counts[row:until].ravel())
        if len(places):
            yield at // len(ranges) + row, places
        row, done = until, int(ends[until - 1])
