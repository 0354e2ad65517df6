"""Tuples matched with registrations in a task: those that hold for its micro-batch, from an index kept in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from millstream.operators.match.predicate_index import ID, PredicateIndex
from millstream.operators.match.terms import MatchTerms
from millstream.spark.stage.garbage_collector import freeze_imported_modules
from millstream.spark.stage.ingress import chunks
from millstream.spark.stage.marks import AT, LEFT_OUT, MARK
from millstream.spark.stage.registration_log import Entry, Kind, read_log

BATCH = "streaming.sql.batchId"
"""The property by which Spark tells a task for which micro-batch it works."""

CHUNK_ROWS = 1 << 17


@dataclass(frozen=True)
class Matching:
    """How tuples are matched: the log of registrations, what these ask for, and the columns that come out.

    `parameters` are the columns of registrations: as they are called here, their types, and as the log has them.
    `registration` is the name of their number here. `tuples` are the columns of tuples that go on, `given` those of
    registrations. Another start of the query has another `version`.
    """

    version: str
    log: Path
    terms: MatchTerms
    registration: str
    parameters: tuple[tuple[str, pa.DataType, str], ...]
    tuples: tuple[str, ...]
    given: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pairs of a tuple and a registration; then what speaks of progress, and time stamps of tuples without one."""
        index = _registered(self).at(_batch())
        for chunk in chunks(batches, CHUNK_ROWS):
            yield from self._matched(chunk.combine_chunks(), index)
        freeze_imported_modules()

    @property
    def schema(self) -> pa.Schema:
        """The columns of registrations in the index."""
        return pa.schema([pa.field(ID, pa.int64()), *(pa.field(name, type_) for name, type_, _ in self.parameters)])

    def _matched(self, chunk: pa.Table, index: PredicateIndex) -> Iterator[pa.RecordBatch]:
        said = [pc.is_valid(chunk[name]) for name in (MARK, LEFT_OUT) if name in chunk.column_names]
        speaks = reduce(pc.or_, said).to_numpy() if said else np.zeros(chunk.num_rows, dtype=np.bool_)
        at = np.flatnonzero(~speaks)
        rows = chunk.take(pa.array(at)) if len(at) < chunk.num_rows else chunk
        passing = rows.select(list(self.tuples))
        theirs_given = index.rows.select([ID if name == self.registration else name for name in self.given])
        alone = np.ones(len(at), dtype=np.bool_)
        for ours, theirs in index.pairs(rows):
            if len(ours):
                alone[ours] = False
                pairs = passing.take(pa.array(ours))
                left_out = pa.nulls(len(ours), pa.int64())
                yield from self._batches(pairs, left_out, theirs_given.take(pa.array(theirs)).columns)
        if AT in chunk.column_names:  # of a tuple without a time stamp nothing goes on
            speaks[at[alone]] = pc.is_valid(rows[AT]).to_numpy()[alone]
        others = chunk.filter(pa.array(speaks))
        if others.num_rows:
            nulls = [pa.nulls(others.num_rows, type_) for type_ in theirs_given.schema.types]
            yield from self._batches(others.select(list(self.tuples)), _left_out(others), nulls)

    def _batches(
        self, rows: pa.Table, left_out: pa.Array, registrations: Sequence[pa.Array]
    ) -> Iterator[pa.RecordBatch]:
        if AT in rows.column_names:
            place = rows.column_names.index(LEFT_OUT) if LEFT_OUT in rows.column_names else rows.num_columns
            kept = rows.drop_columns([LEFT_OUT]) if LEFT_OUT in rows.column_names else rows
            rows = kept.add_column(place, LEFT_OUT, left_out)
        names = [*rows.column_names, *self.given]
        yield from pa.table([*rows.columns, *registrations], names=names).combine_chunks().to_batches()


def _left_out(others: pa.Table) -> pa.Array:
    """The time stamps of tuples that go no further; marks have none of this kind."""
    if AT not in others.column_names:
        return pa.nulls(others.num_rows, pa.int64())
    found = others[AT]
    if LEFT_OUT in others.column_names:
        found = pc.coalesce(others[LEFT_OUT], found)
    return pc.if_else(pc.is_valid(others[MARK]), None, found) if MARK in others.column_names else found


@dataclass
class _Registered:
    """The registrations of a template in this process, as they hold for one batch."""

    matching: Matching
    log: bytes = b""
    place: int = 0
    batch: int = -1
    index: PredicateIndex | None = None
    waiting: list[Entry] = field(default_factory=list)

    def at(self, batch: int) -> PredicateIndex:
        """The index of the registrations that hold for a batch."""
        if batch < self.batch:
            self.place = 0  # a batch of the past comes again: some of what is known does not hold for it
        tail = read_log(self.matching.log, self.place, self.log)
        if self.index is None or not self.place or tail.id != self.log:
            self.index, self.waiting = PredicateIndex(self.matching.terms, self.matching.schema), []
        self.log, self.place, self.batch = tail.id, tail.end, batch
        self.waiting += tail.entries
        now = [entry for entry in self.waiting if entry.batch <= batch]
        self.waiting = self.waiting[len(now) :]
        self._take(self.index, now)
        return self.index

    def _take(self, index: PredicateIndex, entries: Sequence[Entry]) -> None:
        """Take in entries in their order; those that add, together."""
        for kind, some in groupby(entries, lambda entry: entry.kind):
            tables = [entry.table for entry in some]
            if kind is Kind.ADD:
                index.add(pa.concat_tables(map(self._named, tables)))
            elif kind is Kind.REMOVE:
                index.remove(np.sort(pa.concat_tables(tables)[ID].to_numpy()))

    def _named(self, table: pa.Table) -> pa.Table:
        """Registrations with the names that their columns have here."""
        columns = [table[ID], *(table[name] for _, _, name in self.matching.parameters)]
        return pa.table(columns, names=self.matching.schema.names)


_KNOWN: dict[Path, _Registered] = {}
"""What this process knows of each log."""


def _registered(matching: Matching) -> _Registered:
    known = _KNOWN.get(matching.log)
    if known is None or known.matching.version != matching.version:
        known = _KNOWN[matching.log] = _Registered(matching)
    return known


def _batch() -> int:
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty(BATCH)
    if number is None:
        raise RuntimeError("Spark does not say which micro-batch this is, and so not which registrations hold")
    return int(number)
