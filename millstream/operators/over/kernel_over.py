"""OVER with user-defined aggregates that are kernels: one call per batch, for all partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.codes import Numbers
from millstream.operators.key_index import KeyIndex
from millstream.operators.ordered.final_order import FinalOrder
from millstream.operators.ordered.frame_states import Bools
from millstream.operators.over.framed_over import FramedOver
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.over.peers import body_of, with_peers
from millstream.udas.columns import Numbers as Pair
from millstream.udas.columns import numbers, rows_of
from millstream.udas.kernels.kernel import Kernel, Variables, kernel_of
from millstream.udas.sql_aggregate import SqlAggregate

UNBOUNDED = -1
"""The reach of an unbounded frame: nothing ever expires."""

TOGETHER = 1024
"""So many partitions are kept in one blob."""


class _Call:
    """One call: its kernel, and the states of all partitions.

    A window aggregate over a finite frame goes by EXPIRE and ITERATE, and its tuples are kept until they have expired.
    Over an unbounded frame there is nothing to expire. A base aggregate over a finite frame is folded anew for each.
    """

    def __init__(self, framed: OverCall) -> None:
        aggregate = framed.call.aggregate
        assert isinstance(aggregate, SqlAggregate)  # noqa: S101  (see runs_by_kernels)
        window = framed.window
        self.framed, self.aggregate = framed, aggregate
        self.by_time, self.reach = window.by_time, window.reach
        self.peers = with_peers(framed)
        self.expires = self.reach is not None and aggregate.versions.window is not None
        self.recomputes = self.reach is not None and not self.expires
        kernel = kernel_of(body_of(framed))
        assert kernel is not None  # noqa: S101
        self.kernel: Kernel = kernel
        self.variables: Variables = self.kernel.variables(0)
        self.expired = np.zeros(0, dtype=np.int64)

    def grow(self, partitions: int) -> None:
        """Make room for partitions that have seen nothing."""
        more = partitions - len(self.expired)
        self.expired = np.append(self.expired, np.zeros(more, dtype=np.int64))
        pairs = zip(self.variables, self.kernel.variables(more), strict=True)
        self.variables = tuple(np.append(known, new) for known, new in pairs)

    def arguments(self, arranged: FinalOrder) -> list[Pair]:
        """The values of its arguments."""
        pairs = zip(self.framed.call.arguments, self.aggregate.body.parameters, strict=True)
        return [numbers(arranged.column(name), parameter.type) for name, parameter in pairs]

    def saved(self, places: slice) -> list[np.ndarray[Any, Any]]:
        """The states of some partitions as columns."""
        return [array[places] for array in (self.expired, *self.variables)]

    def restore(self, columns: list[np.ndarray[Any, Any]]) -> None:
        """Add states that were saved."""
        expired, *variables = columns
        self.expired = np.append(self.expired, expired)
        self.variables = tuple(np.append(a, b) for a, b in zip(self.variables, variables, strict=True))


class KernelOver(FramedOver):
    """One bucket of OVER calls of user-defined aggregates that are kernels."""

    def __init__(self, work: OverAggregateJob, blobs: Blobs) -> None:
        super().__init__(work, blobs)
        names = [name for name, _ in work.partition]
        self._index = KeyIndex(names, [type_ for _, type_ in work.partition], blobs, "partitions/")
        self._calls = [_Call(framed) for framed in work.calls]
        self._seen = np.zeros(0, dtype=np.int64)
        for _, blob in blobs.scan("kernels/"):
            columns = [np.array(c.to_numpy()) for c in from_bytes(blob).itercolumns()]
            self._seen = np.append(self._seen, columns.pop(0))
            for call in self._calls:
                width = 1 + len(call.variables)
                call.restore(columns[:width])
                del columns[:width]

    def _horizon(self, until: int) -> int | None:
        keeping = [call for call in self._calls if call.reach is not None]
        if self._order == "row" or not keeping or not all(c.recomputes and c.by_time for c in keeping):
            return None
        return until - max(call.reach or 0 for call in keeping)

    def _settle(self, arranged: FinalOrder, until: int) -> tuple[list[pa.Table], Bools]:
        heads = np.flatnonzero(arranged.begins == np.arange(len(arranged.order)))
        heads = heads[arranged.news[heads] < arranged.ends[heads]]
        partitions = self._index.find(arranged.table.take(pa.array(arranged.order[heads])))
        self._grow()
        news, ends = arranged.news[heads], arranged.ends[heads]
        firsts = news - self._seen[partitions]
        answers = self._answering(arranged, np.repeat(firsts, ends - news))
        current = np.flatnonzero(answers)
        current = current[np.argsort(arranged.ranked_by[current], kind="stable")]
        rows = pa.array(arranged.order[current])
        data = {name: arranged.table[name].combine_chunks().take(rows) for name in self._work.carried}
        needed = np.zeros(len(arranged.order), dtype=np.bool_)
        for call in self._calls:
            counts, arguments = arranged.passing(call.framed.call.condition), call.arguments(arranged)
            if call.recomputes:
                found = self._recomputed(call, arranged, current, counts, arguments)
                needed |= _in_reach(call, arranged, until)
            else:
                spans = (news, ends, partitions, firsts)
                has, results = call.kernel.steps(
                    spans,
                    arranged.times,
                    (call.by_time, UNBOUNDED if call.reach is None else call.reach),
                    (counts, answers),
                    call.expired,
                    arguments,
                    call.variables,
                )
                places = arranged.last_peers(counts)[current] if call.peers else current
                has = has[places] & counts[current]
                found = _lists(call.aggregate, has, [_taken(r, places) for r in results])
                if call.expires:
                    needed |= self._unexpired(call, arranged, heads, partitions, firsts)
            data.update(dict.fromkeys(call.framed.call.names, found))
        self._seen[partitions] += ends - news
        self._save_states(partitions)
        return ([pa.table(data)] if len(current) else []), needed

    def _answering(self, arranged: FinalOrder, first: Numbers) -> Bools:
        """The new tuples that answer; `first` is for each new tuple where the first of its partition would be."""
        answers = arranged.new.copy()
        new = np.flatnonzero(arranged.new)
        if self._slots is not None and len(new):
            slots = self._slots.number(arranged.times[new])
            changes = (np.diff(slots) != 0) | (np.diff(arranged.partition[new]) != 0)
            answers[new] = np.append(changes, True)
        elif self._every > 1:
            answers[new] = (new - first + 1) % self._every == 0
        return answers

    def _recomputed(
        self, call: _Call, arranged: FinalOrder, current: Numbers, counts: Bools, arguments: list[Pair]
    ) -> pa.Array:
        if call.by_time:
            begins = arranged.seek(arranged.partition[current], arranged.times[current] - (call.reach or 0))
        else:
            begins = np.maximum(arranged.begins[current], current - (call.reach or 0))
        before = np.append(0, np.cumsum(counts))
        chosen = [Pair(column.values[counts], column.nulls[counts]) for column in arguments]
        # A tuple that does not count has no answer, whatever its frame holds.
        last = arranged.last_peers(counts)[current] if call.peers else current
        starts, ends = before[begins], np.where(counts[current], before[last + 1], before[begins])
        has, results = call.kernel.fold(starts, ends, chosen)
        return _lists(call.aggregate, has, results)

    def _unexpired(
        self, call: _Call, arranged: FinalOrder, heads: Numbers, partitions: Numbers, firsts: Numbers
    ) -> Bools:
        """The tuples that have not left the windows of a call. Partitions that got nothing new keep all they have."""
        oldest = arranged.begins.copy()
        lengths = (arranged.ends - arranged.begins)[heads]
        places = np.repeat(arranged.begins[heads] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        oldest[places] = np.repeat(firsts + call.expired[partitions], lengths)
        found: Bools = np.arange(len(oldest)) >= oldest
        return found

    def _grow(self) -> None:
        self._seen = np.append(self._seen, np.zeros(len(self._index) - len(self._seen), dtype=np.int64))
        for call in self._calls:
            call.grow(len(self._index))

    def _save_states(self, partitions: Numbers) -> None:
        for block in np.unique(partitions // TOGETHER).tolist():
            places = slice(block * TOGETHER, (block + 1) * TOGETHER)
            columns = [self._seen[places], *(array for call in self._calls for array in call.saved(places))]
            table = pa.table({str(i): pa.array(column) for i, column in enumerate(columns)})
            self._blobs.put(f"kernels/{block:09d}", to_bytes(table))


def runs_by_kernels(work: OverAggregateJob) -> bool:
    """Whether all calls have kernels, and none must act at the moment that a tuple expires."""
    return all(
        isinstance(framed.call.aggregate, SqlAggregate)
        and not framed.window.active
        and kernel_of(body_of(framed)) is not None
        for framed in work.calls
    )


def _in_reach(call: _Call, arranged: FinalOrder, until: int) -> Bools:
    found: Bools
    if call.by_time:
        found = arranged.times >= until - (call.reach or 0)
    else:
        found = np.arange(len(arranged.order)) >= arranged.ends - (call.reach or 0)
    return found


def _taken(column: Pair, places: Numbers) -> Pair:
    return Pair(column.values[places], column.nulls[places])


def _lists(aggregate: SqlAggregate, has: Bools, results: list[Pair]) -> pa.Array:
    return rows_of(has, results, aggregate.body.result, aggregate.row)
