"""OVER with ALGEBRAIC user-defined aggregates over rows with a slide: it keeps answers over panes, and no tuples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import State, put, take
from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.codes import Numbers
from millstream.operators.key_index import KeyIndex
from millstream.operators.ordered.final_order import FinalOrder
from millstream.operators.ordered.frame_states import Bools, from_tree
from millstream.operators.over.framed_over import FramedOver
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.over.pane_of_rows import pane_of_rows
from millstream.operators.tuples.tuple_log import TupleLog

TOGETHER = 1024
"""The open panes of so many partitions are kept in one blob."""


class _Came:
    """The tuples of a batch by partition: how many each had `seen` before, and how many it has seen `now`."""

    def __init__(self, partitions: Numbers, seen: Numbers, sizes: Numbers) -> None:
        self.partitions, self.seen, self.now = partitions, seen, seen + sizes
        self.nth: Numbers = np.repeat(np.arange(len(sizes)), sizes)
        """For each tuple which of the partitions is its own."""
        self.numbers: Numbers = np.arange(len(self.nth)) + (seen - np.cumsum(sizes) + sizes)[self.nth]
        """For each tuple its number in its partition."""

    def keys(self, nth: Numbers, pane: Numbers) -> Numbers:
        """Panes as single numbers, in the order of partitions and panes."""
        return nth * (int(self.now.max()) + 1) + pane


class _Panes(NamedTuple):
    """Panes with their states: `nth` says whose they are, among the partitions to which tuples came."""

    nth: Numbers
    pane: Numbers
    state: State

    def chosen(self, places: Numbers) -> _Panes:
        """Some of them."""
        return _Panes(self.nth[places], self.pane[places], take(self.state, places))

    def and_(self, others: _Panes) -> _Panes:
        """These and others."""
        return _Panes(
            np.append(self.nth, others.nth), np.append(self.pane, others.pane), _join(self.state, others.state)
        )


class _Call:
    """One call, and the panes of all partitions.

    The panes of a partition are numbered from 0, and cut into stretches of as many as a window has. So a window is the
    tail of one stretch and the head of the next. Of a stretch that is over, those tails are kept with which windows
    begin; of the present one its panes, to make such tails of them, and the total of its head so far. These are the
    two stacks of TwoStacks, turned over at the end of each stretch, for all partitions at once. So a pane is merged
    but a few times and an answer takes a logarithm of merges, however many panes a window has.
    """

    def __init__(self, framed: OverCall, blobs: Blobs, number: int) -> None:
        window, aggregate = framed.window, framed.call.aggregate
        pane = pane_of_rows(aggregate, window)
        assert pane is not None  # noqa: S101  (see runs_by_panes)
        self.call, self.aggregate = framed.call, aggregate
        self._pane = pane
        self._length, self._slide = ((window.reach or 0) + 1) // pane, window.every // pane
        self._log = TupleLog(blobs, f"panes/{number}/")
        self._open, self._total = aggregate.zero(0), aggregate.zero(0)

    def grow(self, open_: State, total: State) -> None:
        """Add partitions: the part of the pane that is open, and the total of those before it in its stretch."""
        self._open, self._total = _join(self._open, open_), _join(self._total, total)

    def packed(self, partitions: slice) -> list[pa.Array]:
        """What `grow` was given of some partitions, and what became of it."""
        states = (self._open, self._total)
        return [c for s in states for c in self.aggregate.pack(tuple(array[partitions] for array in s))]

    def unpacked(self, columns: list[pa.Array]) -> tuple[State, State]:
        """What was packed."""
        half = len(columns) // 2
        return self.aggregate.unpack(columns[:half]), self.aggregate.unpack(columns[half:])

    def settle(self, arranged: FinalOrder, came: _Came, current: Numbers) -> pa.Array:
        """Take tuples in, and answer at some of their places, at the end of a pane each."""
        counts = arranged.passing(self.call.condition)
        new = self._closed(arranged, came, counts)
        kept, pane = self._kept(came)
        before, now = came.seen // self._pane // self._length, came.now // self._pane // self._length
        mine, over = kept >= 0, pane // self._length < before[kept]
        turned = mine & ~over & (now > before)[kept]
        # A tuple that does not count has no answer, whatever its frame holds.
        answering = np.flatnonzero(counts[current])
        nth, ends = came.nth[current[answering]], came.numbers[current[answering]] // self._pane + 1
        tails, heads = self._tails_and_heads(came, self._read(kept, pane, turned).and_(new), nth, ends)
        windows = self.aggregate.zero(len(current))
        put(windows, answering, heads)
        # A window that begins with a stretch is a head alone.
        begins = ends - self._length
        tailed = np.flatnonzero((begins > 0) & (begins % self._length > 0))
        if len(tailed):
            wanted = came.keys(nth[tailed], begins[tailed])
            used = mine & over & np.isin(came.keys(kept, pane), wanted)
            found = _find(came, self._read(kept, pane, used).and_(tails), wanted)
            put(windows, answering[tailed], self.aggregate.merge(found, take(heads, tailed)))
        # Nothing is needed of what lies before the next window.
        first = (came.now // (self._pane * self._slide) + 1) * self._slide - self._length
        self._log.keep(~mine | (~turned & (pane >= first[kept])))
        added = tails.and_(new.chosen(np.flatnonzero(new.pane // self._length >= now[new.nth])))
        self._append(came, added.chosen(np.flatnonzero(added.pane >= first[added.nth])))
        return self.aggregate.finish(windows)

    def _closed(self, arranged: FinalOrder, came: _Came, counts: Bools) -> _Panes:
        """The panes that are closed now; what came of those that are not goes to the open ones.

        The time of a tuple is its number, so that parts of a pane, and panes, merge in the order of the tuples.
        """
        panes = came.numbers // self._pane
        # With a slide that is longer than the window, some panes are in none.
        used = np.flatnonzero(panes >= (panes // self._slide + 1) * self._slide - self._length)
        nth, panes = came.nth[used], panes[used]
        begins = _begins(nth) | _begins(panes)
        groups, counts = np.cumsum(begins) - 1, counts[used]
        places = used[counts]
        arguments = [arranged.column(name).take(pa.array(places)) for name in self.call.arguments]
        state = self.aggregate.zero(int(begins.sum()))
        state = self.aggregate.reduce(state, groups[counts], arguments, came.numbers[places])
        nth, panes = nth[begins], panes[begins]
        first = np.flatnonzero(_begins(nth))
        put(state, first, self.aggregate.merge(take(self._open, came.partitions[nth[first]]), take(state, first)))
        put(self._open, came.partitions, self.aggregate.zero(len(came.partitions)))
        closed = panes < (came.now // self._pane)[nth]
        still = np.flatnonzero(~closed)
        put(self._open, came.partitions[nth[still]], take(state, still))
        return _Panes(nth, panes, state).chosen(np.flatnonzero(closed))

    def _tails_and_heads(self, came: _Came, panes: _Panes, nth: Numbers, ends: Numbers) -> tuple[_Panes, State]:
        """The tails of the stretches that are over now, and the heads of windows that end before certain panes.

        The totals of the present stretches, which are heads as well, go on.
        """
        length, closed = self._length, came.now // self._pane
        keys = came.keys(panes.nth, panes.pane)
        order = np.argsort(keys)
        panes, keys = panes.chosen(order), keys[order]
        is_tail = (panes.pane + length) % self._slide == 0
        is_tail &= (panes.pane % length > 0) & (panes.pane // length < (closed // length)[panes.nth])
        tails = np.flatnonzero(is_tail)
        tail_ends = (panes.pane[tails] // length + 1) * length
        # The heads of the answers, and after them those of the partitions.
        nths, stops = np.append(nth, np.arange(len(closed))), np.append(ends, closed)
        stretches = np.append((ends - 1) // length, closed // length)
        starts = np.maximum(stretches * length, (came.seen // self._pane)[nths])
        firsts = np.append(tails, np.searchsorted(keys, came.keys(nths, starts)))
        lasts = np.searchsorted(keys, came.keys(np.append(panes.nth[tails], nths), np.append(tail_ends, stops))) - 1
        found = from_tree(self.aggregate, panes.state, firsts, lasts)
        heads = tuple(array[len(tails) :] for array in found)
        goes_on = np.flatnonzero(stretches == (came.seen // self._pane // length)[nths])
        totals = take(self._total, came.partitions[nths[goes_on]])
        put(heads, goes_on, self.aggregate.merge(totals, take(heads, goes_on)))
        put(self._total, came.partitions, tuple(array[len(nth) :] for array in heads))
        tail_states = tuple(array[: len(tails)] for array in found)
        return _Panes(panes.nth[tails], panes.pane[tails], tail_states), tuple(array[: len(nth)] for array in heads)

    def _kept(self, came: _Came) -> tuple[Numbers, Numbers]:
        """Whose the panes in the log are, -1 if no tuples came there, and their numbers."""
        table = self._log.table
        if table is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        places = np.full(len(self._open[0]), -1)
        places[came.partitions] = np.arange(len(came.partitions))
        return places[table["partition"].to_numpy()], table["pane"].to_numpy()

    def _read(self, nth: Numbers, pane: Numbers, wanted: Bools) -> _Panes:
        """Some of the panes in the log."""
        table = self._log.table
        if table is None or not wanted.any():
            none = np.zeros(0, dtype=np.int64)
            return _Panes(none, none, self.aggregate.zero(0))
        some = table.filter(pa.array(wanted))
        columns = [some[str(i)].combine_chunks() for i in range(self.call.width)]
        return _Panes(nth[wanted], pane[wanted], self.aggregate.unpack(columns))

    def _append(self, came: _Came, panes: _Panes) -> None:
        states = {str(i): column for i, column in enumerate(self.aggregate.pack(panes.state))}
        self._log.append(pa.table({"partition": came.partitions[panes.nth], "pane": panes.pane, **states}))


class PanedOver(FramedOver):
    """One bucket of OVER calls of ALGEBRAIC aggregates over rows, with slides that have panes in common with them."""

    def __init__(self, work: OverAggregateJob, blobs: Blobs) -> None:
        super().__init__(work, blobs)
        names = [name for name, _ in work.partition]
        self._index = KeyIndex(names, [type_ for _, type_ in work.partition], blobs, "partitions/")
        self._calls = [_Call(framed, blobs, number) for number, framed in enumerate(work.calls)]
        self._seen = np.zeros(0, dtype=np.int64)
        for _, blob in blobs.scan("open/"):
            seen, *columns = (column.combine_chunks() for column in from_bytes(blob).itercolumns())
            self._seen = np.append(self._seen, seen.to_numpy())
            for call in self._calls:
                width = 2 * call.call.width
                call.grow(*call.unpacked(columns[:width]))
                del columns[:width]

    def _settle(self, arranged: FinalOrder, until: int) -> tuple[list[pa.Table], Bools]:
        # No tuple is kept once it is settled: all are new.
        heads = np.flatnonzero(arranged.begins == np.arange(len(arranged.order)))
        partitions = self._index.find(arranged.table.take(pa.array(arranged.order[heads])))
        self._grow()
        came = _Came(partitions, self._seen[partitions], (arranged.ends - arranged.begins)[heads])
        current = np.flatnonzero((came.numbers + 1) % self._every == 0)
        current = current[np.argsort(arranged.ranked_by[current], kind="stable")]
        rows = pa.array(arranged.order[current])
        data = {name: arranged.table[name].combine_chunks().take(rows) for name in self._work.carried}
        for call in self._calls:
            data.update(dict.fromkeys(call.call.names, call.settle(arranged, came, current)))
        self._seen[partitions] = came.now
        self._save_states(partitions)
        return ([pa.table(data)] if len(current) else []), np.zeros(len(arranged.order), dtype=np.bool_)

    def _grow(self) -> None:
        more = len(self._index) - len(self._seen)
        self._seen = np.append(self._seen, np.zeros(more, dtype=np.int64))
        for call in self._calls:
            call.grow(call.aggregate.zero(more), call.aggregate.zero(more))

    def _save_states(self, partitions: Numbers) -> None:
        for block in np.unique(partitions // TOGETHER).tolist():
            places = slice(block * TOGETHER, (block + 1) * TOGETHER)
            columns = [pa.array(self._seen[places]), *(c for call in self._calls for c in call.packed(places))]
            self._blobs.put(f"open/{block:09d}", to_bytes(pa.table({str(i): c for i, c in enumerate(columns)})))


def runs_by_panes(work: OverAggregateJob) -> bool:
    """Whether all calls have panes of rows."""
    return all(pane_of_rows(framed.call.aggregate, framed.window) is not None for framed in work.calls)


def _find(came: _Came, panes: _Panes, wanted: Numbers) -> State:
    """The states of panes with certain keys."""
    keys = came.keys(panes.nth, panes.pane)
    order = np.argsort(keys)
    return take(panes.state, order[np.searchsorted(keys, wanted, sorter=order)])


def _join(left: State, right: State) -> State:
    return tuple(np.concatenate(pair) for pair in zip(left, right, strict=True))


def _begins(groups: Numbers) -> Bools:
    """Where another group begins.

    >>> _begins(np.array([4, 4, 5])).tolist(), _begins(np.array([])).tolist()
    ([True, False, True], [])
    """
    return np.append(True, np.diff(groups) != 0)[: len(groups)]
