"""A slice of a join: tuples of one side, sorted by key and time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.join.keys import Bools, Numbers, hash_keys, is_exact, same_keys
from millstream.operators.window_aggregate_job import TIME

ROOM = 2**62
"""Numbers that stand for a key and a time must be less."""


class Slice:
    """Some tuples of a side, sorted by the hash of their keys and then by time. They never change.

    `settled` are the tuples that have had all the answers they need, but for pairs; None if there are none of these.
    `freed` are in the same way those that need nothing more at all, by promises to their keys.
    `number` names the slice in the store; None if it has not been written. `changed` are those of which what is settled
    has not been written, `sorted_anew` those that were not given in their order.
    """

    def __init__(self, rows: pa.RecordBatch, keys: Sequence[str], hashes: Numbers, times: Numbers) -> None:
        self.rows = rows
        self.columns: list[pa.Array] = rows.columns
        self.hashes = hashes
        self.times = times
        self.keys: list[pa.Array] = [rows.column(name) for name in keys]
        self.exact = is_exact(self.keys)
        self.oldest, self.newest = int(times.min()), int(times.max())
        self.settled: Bools | None = None
        self.freed: Bools | None = None
        self.number: int | None = None
        self.changed = False
        self.sorted_anew = False
        self._names = keys

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def starts(self) -> Numbers:
        """Where each group of tuples with one hash begins, and at last the number of tuples."""
        begins = np.flatnonzero(self.hashes[1:] != self.hashes[:-1]) + 1
        return np.concatenate((np.zeros(1, dtype=np.int64), begins, np.array([len(self)])))

    @cached_property
    def distinct(self) -> Numbers:
        """The hash of each group."""
        return self.hashes[self.starts[:-1]]

    @cached_property
    def sizes(self) -> Numbers:
        """The number of tuples in each group."""
        return np.diff(self.starts)

    @cached_property
    def groups(self) -> Numbers:
        """The number of the group of each tuple."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def clean(self) -> bool:
        """Whether each group has only one key: hashes may be equal without that."""
        if self.exact:
            return True
        inner = np.flatnonzero(self.hashes[1:] == self.hashes[:-1])
        return bool(same_keys(self.keys, inner, self.keys, inner + 1).all())

    @cached_property
    def by_time(self) -> tuple[Numbers, Numbers]:
        """The positions of the tuples in the order of time, and the times in this order."""
        order = np.argsort(self.times)
        return order, self.times[order]

    def before(self, time: int) -> Numbers:
        """The positions of the tuples before a time."""
        order, times = self.by_time
        return order[: np.searchsorted(times, time)]

    def between(self, first: int | None, end: int) -> Numbers:
        """The positions of the tuples in [first, end)."""
        order, times = self.by_time
        return order[0 if first is None else np.searchsorted(times, first) : np.searchsorted(times, end)]

    def narrowed(self, groups: Numbers, first: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
        """Of some groups the tuples that are in [first, last], as half-open ranges of positions.

        No `first` may be after the newest tuple, and no `last` before the oldest.
        """
        places, span, moments = self._places
        if moments is None:
            low, high = np.maximum(first, self.oldest) - self.oldest, np.minimum(last, self.newest) - self.oldest
        else:
            low, high = np.searchsorted(moments, first), np.searchsorted(moments, last, side="right") - 1
        begin = np.searchsorted(places, groups * span + low)
        return begin, np.maximum(np.searchsorted(places, groups * span + high, side="right"), begin)

    @cached_property
    def _places(self) -> tuple[Numbers, int, Numbers | None]:
        """A number for each tuple, by group and time; how many a group has; and the times, if their ranks are used."""
        span = self.newest - self.oldest + 1
        if len(self.sizes) * span < ROOM:
            return self.groups * span + (self.times - self.oldest), span, None
        moments, ranks = np.unique(self.times, return_inverse=True)
        return self.groups * len(moments) + ranks, len(moments), moments

    def chosen(self, at: Numbers) -> Slice:
        """The slice of the tuples in some positions, which ascend; none of these is freed."""
        if len(at) == len(self):
            return self
        part = Slice(taken(self.rows, at), self._names, self.hashes[at], self.times[at])
        part.settled = None if self.settled is None else self.settled[at]
        return part

    def settle(self, at: Numbers) -> None:
        """Say that tuples are settled."""
        if self.settled is None:
            self.settled = np.zeros(len(self), dtype=np.bool_)
        if not self.settled[at].all():  # nothing is to be written if they were before
            self.settled[at] = True
            self.changed = True

    def free(self, at: Numbers) -> None:
        """Say that tuples are freed."""
        if len(at):
            self.freed = np.zeros(len(self), dtype=np.bool_) if self.freed is None else self.freed
            self.freed[at] = True

    def open(self, at: Numbers) -> Numbers:
        """Of some positions those of tuples that are neither settled nor freed."""
        for done in (self.settled, self.freed):
            at = at if done is None else at[~done[at]]
        return at


def sliced(table: pa.Table, keys: Sequence[str], settled: Bools | None = None) -> Slice:
    """The tuples of a table, which has at least one, as a slice; its keys are plain and neither they nor TIME NULL."""
    rows = as_batch(table)
    hashes = hash_keys([rows.column(name) for name in keys], rows.num_rows)
    return _sorted(rows, keys, hashes, rows.column(TIME).to_numpy(), settled)


def hashes_of(table: pa.Table, keys: Sequence[str]) -> Numbers:
    """The hashes that the tuples of a table would have in a slice."""
    return hash_keys([table[name].combine_chunks() for name in keys], table.num_rows)


def merged(slices: Sequence[Slice], keys: Sequence[str]) -> Slice:
    """One slice in place of several."""
    rows = as_batch(pa.Table.from_batches([s.rows for s in slices]))
    settled = None
    if any(s.settled is not None for s in slices):
        settled = np.concatenate([np.zeros(len(s), np.bool_) if s.settled is None else s.settled for s in slices])
    hashes, times = (np.concatenate(parts) for parts in zip(*((s.hashes, s.times) for s in slices), strict=True))
    return _sorted(rows, keys, hashes, times, settled)


def _sorted(
    rows: pa.RecordBatch, keys: Sequence[str], hashes: Numbers, times: Numbers, settled: Bools | None = None
) -> Slice:
    places, size = _places_of(hashes, times)
    anew = bool((places[1:] < places[:-1]).any())  # what was stored is sorted, unless hashes were made otherwise then
    if anew:
        order = _order(places, size)
        rows, hashes, times = taken(rows, order), hashes[order], times[order]
        settled = None if settled is None else settled[order]
    made = Slice(rows, keys, hashes, times)
    made.settled = settled
    made.sorted_anew = anew
    return made


def _places_of(hashes: Numbers, times: Numbers) -> tuple[Numbers, int]:
    """Numbers that are ordered as the hashes are and then as the times are, and what they are less than."""
    low, oldest = int(hashes.min()), int(times.min())
    span, size = int(times.max()) - oldest + 1, int(hashes.max()) - low + 1
    if size * span < ROOM:
        return (hashes - low) * span + (times - oldest), size * span
    ranks, size = _ranks(hashes)
    if size * span < ROOM:
        return ranks * span + (times - oldest), size * span
    nth, span = _ranks(times)
    return ranks * span + nth, size * span


def _ranks(values: Numbers) -> tuple[Numbers, int]:
    """The rank of each value among all different ones, and how many these are: only they are sorted."""
    encoded = pc.dictionary_encode(pa.array(values))
    ranks = np.argsort(np.argsort(encoded.dictionary.to_numpy()))
    return ranks[encoded.indices.to_numpy()], len(ranks)


def _order(places: Numbers, size: int) -> Numbers:
    """The rows by place: sorted by 16 bits at a time, from the lowest on, which numpy does by counting."""
    order = np.argsort(places.astype(np.uint16), kind="stable")
    for shift in range(16, (size - 1).bit_length(), 16):
        order = order[np.argsort((places[order] >> shift).astype(np.uint16), kind="stable")]
    return order


def as_batch(table: pa.Table) -> pa.RecordBatch:
    """A table in one piece."""
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def taken(rows: pa.RecordBatch, at: Numbers) -> pa.RecordBatch:
    """Some rows."""
    return pa.RecordBatch.from_arrays(take_all(rows.columns, at), schema=rows.schema)


def gathered(values: Numbers, at: Numbers) -> Numbers:
    """The values in some positions: Arrow finds them in half the time that numpy needs."""
    found: Numbers = pc.take(pa.array(values), pa.array(at), boundscheck=False).to_numpy()
    return found


def take_all(columns: Sequence[pa.Array], at: Numbers) -> list[pa.Array]:
    """Some rows of some columns."""
    indices = pa.array(at)
    return [pc.take(column, indices, boundscheck=False) for column in columns]
