"""The window join of two streams, whatever the order of their tuples: OA-Join [Li 2008, chapter 7]."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.join.keys import Bools, Numbers, plain_key
from millstream.operators.join.probe import Seekers, covered
from millstream.operators.join.promises import JoinPromises
from millstream.operators.join.slice import Slice, hashes_of, sliced, take_all
from millstream.operators.join.state import JoinState
from millstream.operators.join.window_join_job import JoinKind, WindowJoinJob
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.punctuation import Punctuation
from millstream.windows.reach import MOST

LEFT, RIGHT = 0, 1

FEWER = 8
"""If a side has so many times fewer tuples than have come for the other, these are looked up before they are sorted."""


class WindowJoin(Operator):
    """One bucket of a window join. A pair is answered in the batch that brings the later one of its tuples.

    A tuple is stored as long as a partner may come: that is what the low-watermark of the other side tells. Tuples that
    are answered for want of a match are so when it is over; at the end of the other side also at once. What the other
    side promises for some keys alone ends the time of tuples with these keys in the same way.
    """

    def __init__(self, job: WindowJoinJob, blobs: Blobs) -> None:
        self._job = job
        self._blobs = blobs
        record = blobs.get("progress")
        self.low_watermarks: list[int | None] = json.loads(record)["low_watermarks"] if record else [None, None]
        self._states = (JoinState(job, LEFT, blobs), JoinState(job, RIGHT, blobs))
        self._promised = (JoinPromises(job, LEFT, blobs), JoinPromises(job, RIGHT, blobs))
        for port, state in enumerate(self._states):
            state.cut = self._cut(port)
            if self._promised[1 - port]:
                for slice_ in state.slices:
                    slice_.free(self._promised[1 - port].freed(slice_))
        self._widths = [len(job.columns(port)) for port in (LEFT, RIGHT)]
        self._names = [*job.columns(LEFT).names, *job.columns(RIGHT).names]
        self._begin_batch()

    def _begin_batch(self) -> None:
        self._judged_by = list(self.low_watermarks)
        self._arrived: tuple[list[pa.Table], list[pa.Table]] = ([], [])
        self._hopeless: tuple[list[pa.Table], list[pa.Table]] = ([], [])
        self._ended: set[int] = set()

    # -- what comes ----------------------------------------------------------------------------------------

    def process(self, table: pa.Table, port: int = 0) -> int:
        """Collect tuples; says how many were late, by what was known of their side before this batch."""
        late = 0
        mark = self._judged_by[port]
        if mark is not None:
            before = pc.fill_null(pc.less(table[TIME], mark), False)
            late = pc.sum(before).as_py() or 0
            if late:
                table = table.filter(pc.invert(before))
        if table.num_rows and self._promised[port]:
            broken = self._promised[port].broken_by(table)
            late += int(np.count_nonzero(broken))
            table = table.filter(pa.array(~broken))
        if table.num_rows:
            self._collect(table, port)
        return late

    def _collect(self, table: pa.Table, port: int) -> None:
        """Put aside what can match nothing, for want of a time or a key; make the keys of the rest plain."""
        needed = [table[name] for name in (TIME, *self._job.key_names)]
        if any(column.null_count for column in needed):
            whole = reduce(pc.and_, (column.is_valid() for column in needed))
            if self._job.kind.preserves(port):
                self._hopeless[port].append(table.filter(pc.invert(whole)))
            table = table.filter(whole)
        if table.num_rows:
            keys = {name: plain_key(table[name].combine_chunks()) for name in self._job.key_names}
            self._arrived[port].append(pa.table({**self._carried(port, table), **keys, TIME: table[TIME]}))

    def _carried(self, port: int, table: pa.Table) -> dict[str, pa.ChunkedArray]:
        """The columns of a table that are needed, in their types."""
        return {f.name: table[f.name].cast(f.type) for f in self._job.columns(port)}

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """Move the low-watermark of a side, or of some keys there. All answers come at the end of the batch."""
        port, time = punctuation.port, punctuation.time
        mark = self.low_watermarks[port]
        if punctuation.final:
            self._ended.add(port)
        elif mark is not None and time <= mark:
            pass
        elif punctuation.group:
            self._promised[port].add(punctuation.group, time)
        else:
            self.low_watermarks[port] = time
            self._blobs.put("progress", json.dumps({"low_watermarks": self.low_watermarks}).encode())
        return iter(())

    # -- what can be said ----------------------------------------------------------------------------------

    @property
    def promise(self) -> int | None:
        """Nothing is said of answers as such, only of their columns."""
        return None

    @property
    def promises(self) -> Mapping[str, int]:
        """The promises about the left time, the right time and the later one of both, as far as they are known."""
        given = self._job.reach.promises(*self.low_watermarks)
        # Of tuples without a match the one time that they have is the later one.
        alone = [given[port] for port in (LEFT, RIGHT) if self._job.kind.settles(port)]
        both = [time for time in (given.joint, *alone) if time is not None]
        joint = min(both) if len(both) > len(alone) else None
        named = zip(self._job.promised, (given.left, given.right, joint), strict=True)
        return {name: time for name, time in named if name is not None and time is not None}

    @property
    def waits(self) -> int | None:
        """The moment after the last partner of a tuple that is to be answered if it has none: the first of these."""
        found = []
        for port, state in enumerate(self._states):
            for slice_ in state.slices if self._job.kind.preserves(port) else ():
                at = slice_.open(slice_.between(state.cut, slice_.newest + 1))
                if len(at):
                    _, last = self._job.reach.partners(port, slice_.times[at].min(keepdims=True))
                    found.append(int(last[0]))
        return min((last + 1 for last in found if last < MOST), default=None)

    def live(self, port: int) -> int:
        """The number of stored tuples of a side that can still match."""
        return len(self._states[port])

    # -- the end of a batch --------------------------------------------------------------------------------

    def end_batch(self) -> Iterator[pa.Table]:
        """The pairs that the batch makes, and the tuples that have turned out to have no match."""
        for port in (LEFT, RIGHT):
            for table in self._hopeless[port]:
                yield self._alone(port, [*self._carried(port, table).values()], table.num_rows)
        left, right = (self._new(port) for port in (LEFT, RIGHT))
        if left is not None:
            seekers = Seekers(left, self._job.reach.partners(LEFT, left.times))
            for other in (*self._states[RIGHT].slices, right):
                if other is not None and seekers.near(other):
                    yield from self._meet(LEFT, seekers, other)
        if right is not None:
            seekers = Seekers(right, self._job.reach.partners(RIGHT, right.times))
            for other in self._states[LEFT].slices:
                if seekers.near(other):
                    yield from self._meet(RIGHT, seekers, other)
        for port, new in ((LEFT, left), (RIGHT, right)):
            yield from self._settle(port, new)
        for port, promised in enumerate(self._promised):
            promised.end_batch(self.low_watermarks[port])
        self._begin_batch()

    def _new(self, port: int) -> Slice | None:
        tables = self._arrived[port]
        table = self._needed(port, pa.concat_tables(tables)) if tables else None
        return sliced(table, self._job.key_names) if table is not None and table.num_rows else None

    def _needed(self, port: int, table: pa.Table) -> pa.Table:
        """New tuples without those that match nothing and are not stored; if the other side is small, they are most."""
        cut, names = self._cut(port), self._job.key_names
        if cut is None or not names or self._job.kind.preserves(port):
            return table
        stored, arrived = self._states[1 - port].slices, self._arrived[1 - port]
        if FEWER * (sum(map(len, stored)) + sum(t.num_rows for t in arrived)) > table.num_rows:
            return table
        hashes = [s.hashes for s in stored] + [hashes_of(t, names) for t in arrived]
        known = pa.array(np.unique(np.concatenate([np.empty(0, dtype=np.int64), *hashes])))
        wanted = pc.is_in(pa.array(hashes_of(table, names)), value_set=known)
        return table.filter(pc.or_(wanted, pc.greater_equal(table[TIME], cut).combine_chunks()))

    def _meet(self, port: int, seekers: Seekers, other: Slice) -> Iterator[pa.Table]:
        """The answers of new tuples of a port and a slice of the other side."""
        job = self._job
        if job.kind.paired:
            hits = seekers.hits(other)
            for at, there in () if hits is None else seekers.pairs(other, hits):
                table = self._pairs(port, seekers.tuples, at, other, there)
                chosen = self._matching(table)
                if chosen is not None:
                    table = table.filter(pa.array(chosen))
                    at, there = at[chosen], there[chosen]  # noqa: PLW2901
                if table.num_rows:
                    yield table
                if job.kind.settles(port):
                    seekers.tuples.settle(at)
                if job.kind.settles(1 - port):
                    other.settle(there)
        else:
            left = seekers.tuples if port == LEFT else other
            for found in self._first_matches(port, seekers, other):
                left.settle(found)
                if job.kind is JoinKind.SEMI and len(found):
                    yield self._chosen(LEFT, left, found)

    def _first_matches(self, port: int, seekers: Seekers, other: Slice) -> Iterator[Numbers]:
        """The tuples of the left side that have a match now and had none before: all that SEMI and ANTI need."""
        tuples, residual = seekers.tuples, self._job.residual
        left = tuples if port == LEFT else other
        hits = seekers.hits(other, ~left.settled if left is tuples and left.settled is not None else None)
        if hits is None:
            return
        if hits.sure and residual is None:
            yield left.open(hits.tuples if port == LEFT else covered(hits, len(other)))
            return
        for at, there in seekers.pairs(other, hits):
            mine = at if port == LEFT else there
            if residual is not None:
                if left.settled is not None:
                    keep = ~left.settled[mine]
                    at, there, mine = at[keep], there[keep], mine[keep]  # noqa: PLW2901
                chosen = self._matching(self._pairs(port, tuples, at, other, there))
                mine = mine if chosen is None else mine[chosen]
            yield np.unique(left.open(mine))

    def _settle(self, port: int, new: Slice | None) -> Iterator[pa.Table]:
        """Answer the tuples of a side that have no match and will not have one; store and drop what there is to."""
        state, old, cut = self._states[port], self._states[port].cut, self._cut(port)
        ended = 1 - port in self._ended
        preserves, paired = self._job.kind.preserves(port), self._job.kind.paired
        promised = self._promised[1 - port]
        for slice_ in state.slices if promised else ():
            at = promised.newly_freed(slice_)
            at = at if old is None else at[slice_.times[at] >= old]
            if preserves:
                yield from self._unmatched(port, slice_, at, settle=False)
            slice_.free(at)
        if preserves:
            for slice_ in state.slices:
                if ended:
                    at = slice_.between(old, slice_.newest + 1)
                elif cut is not None and slice_.oldest < cut:
                    at = slice_.between(old, cut)
                else:
                    continue
                yield from self._unmatched(port, slice_, at, ended)
        state.move(cut)
        if new is not None:
            lives = np.ones(len(new), dtype=np.bool_) if cut is None else new.times >= cut
            if promised:
                lives[promised.freed(new)] = False
            if preserves:
                at = np.arange(len(new)) if ended else np.flatnonzero(~lives)
                yield from self._unmatched(port, new, at, ended)
            if port == LEFT and not paired and new.settled is not None:
                lives &= ~new.settled
            state.add(new, np.flatnonzero(lives))
        state.tidy(self.low_watermarks[port])
        state.write()

    def _unmatched(self, port: int, slice_: Slice, at: Numbers, settle: bool) -> Iterator[pa.Table]:
        """Answer the tuples in some positions that are not settled."""
        at = slice_.open(at)
        if len(at):
            yield self._chosen(port, slice_, at)
            if settle:
                slice_.settle(at)

    def _cut(self, port: int) -> int | None:
        """The time before which no tuple of a side can have partners that are still to come."""
        mark = self.low_watermarks[1 - port]
        return None if mark is None else self._job.reach.oldest(port, mark)

    # -- tables --------------------------------------------------------------------------------------------

    def _columns(self, port: int, slice_: Slice) -> list[pa.Array]:
        """The columns of a slice that answers have."""
        return slice_.columns[: self._widths[port]]

    def _pairs(self, port: int, tuples: Slice, at: Numbers, other: Slice, there: Numbers) -> pa.Table:
        """Pairs as a table, the columns of the left side first."""
        sides = [take_all(self._columns(port, tuples), at), take_all(self._columns(1 - port, other), there)]
        return pa.Table.from_arrays([*sides[port], *sides[1 - port]], names=self._names)

    def _matching(self, pairs: pa.Table) -> Bools | None:
        """Which pairs the residual lets pass; None if all do."""
        if self._job.residual is None:
            return None
        said = self._job.residual(pairs)
        said = said.combine_chunks() if isinstance(said, pa.ChunkedArray) else said
        chosen: Bools = pc.fill_null(said, False).to_numpy(zero_copy_only=False)
        return None if chosen.all() else chosen

    def _chosen(self, port: int, slice_: Slice, at: Numbers) -> pa.Table:
        """Tuples of a slice as answers."""
        return self._alone(port, take_all(self._columns(port, slice_), at), len(at))

    def _alone(self, port: int, columns: list[pa.Array], count: int) -> pa.Table:
        """Tuples of one side as answers; the columns of the other side are NULL."""
        job = self._job
        if job.kind.paired:
            other = [pa.nulls(count, f.type) for f in (job.right if port == LEFT else job.left)]
            columns = [*columns, *other] if port == LEFT else [*other, *columns]
        return pa.Table.from_arrays(columns, schema=job.answers)
