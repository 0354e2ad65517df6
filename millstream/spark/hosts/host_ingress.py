"""The first half of a host: tuples to packets for states, and to the rows of members that need none."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.files.arrow_ingress import BAD_FILES, FILES, ROWS, FileReader, Reading
from millstream.expressions.arrow.steps import ColumnOf, Whole
from millstream.operators.answers import STAMP
from millstream.operators.blobs import to_bytes
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.operators.tuples.row_steps import Compute, Keep, Step
from millstream.operators.window_aggregate_job import ARRIVAL, TIME
from millstream.spark.hosts.common_steps import CommonSteps
from millstream.spark.hosts.freight import FREIGHT_FIELDS, FREIGHT_SCHEMA, Kind, Piece, encode_failure, pack_freight
from millstream.spark.hosts.member import BatchMembers, Member, SharedState
from millstream.spark.hosts.pattern_steps import PatternSteps, steps_for
from millstream.spark.hosts.roster import read_batch_members
from millstream.spark.stage import marks
from millstream.spark.stage.arrival_order import Run, Runs, number_rows, task_number
from millstream.spark.stage.garbage_collector import freeze_imported_modules
from millstream.spark.stage.ingress import Arrow, chunks, progress_of, seal_packets
from millstream.spark.stage.marks import AT
from millstream.spark.stage.packets import TaskProgress
from millstream.spark.stage.time_limits import TimeJudgement, TimeLimits, judge_times

BUFFER_ROWS = 500_000
"""So many rows of all members and states are sent on together."""

COUNTED_SCHEMA = f"{FREIGHT_SCHEMA}, {ROWS} BIGINT, {FILES} BIGINT, {BAD_FILES} BIGINT"
_COUNTED_FIELDS = pa.schema([*FREIGHT_FIELDS, *(pa.field(name, pa.int64()) for name in (ROWS, FILES, BAD_FILES))])


@dataclass(frozen=True)
class HostInlet:
    """Where the tuples of a host arrive: its folder, its buckets, what time stamps are good, and which column they are.

    `ordered`, tuples are numbered as they arrived. `time` is None where they have no time stamp.
    """

    folder: Path
    buckets: tuple[int, ...]
    limits: TimeLimits | None
    time: str | None
    ordered: bool = False


def batch_number() -> int:
    """The number of the batch that this task works for."""
    from pyspark import TaskContext

    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    if number is None:
        raise RuntimeError("Spark does not say which batch a task is for")
    return int(number)


def host_ingress(inlet: HostInlet) -> Arrow:
    """A function for mapInArrow from tuples and marks to freight."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hold = FreightBuffer(inlet, read_batch_members(inlet.folder, batch_number()))
        for number, chunk in enumerate(chunks(batches)):
            rows, said, _ = marks.part(chunk)
            runs: Runs = ()
            if inlet.ordered:
                rows, runs = number_rows(rows, task_number(), number)
            hold.take(rows, rows[AT] if inlet.time is not None else None, said, runs)
            if hold.is_full:
                yield pack_freight(hold.unload())
        if pieces_left := hold.unload():
            yield pack_freight(pieces_left)
        freeze_imported_modules()

    return run


def host_file_ingress(inlet: HostInlet, declared: pa.Schema | None) -> Arrow:
    """A function for mapInArrow from the names of files to freight; the first piece of each lot counts what was read.

    Files in which what is `declared` cannot be read are passed over, and counted.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hold = FreightBuffer(inlet, read_batch_members(inlet.folder, batch_number()))
        for batch in batches:
            files, read = batch.num_rows, 0
            reader = FileReader(Reading(hold.columns, inlet.time or "", (), (), declared))
            for found in reader.pieces(batch, inlet.ordered):
                chunk = found.rows
                runs: Runs = ()
                read += found.read
                times = None if inlet.time is None else chunk[inlet.time].cast(pa.int64())
                if found.run is not None:
                    chunk, runs = in_run(chunk, found.run)
                hold.take(chunk, times, None, runs)
                if hold.is_full:
                    yield counted(hold.unload(), read, files, 0)
                    files, read = 0, 0
            yield counted(hold.unload() or [nothing_said(inlet)], read + reader.bad, files, reader.bad)
        freeze_imported_modules()

    return run


def nothing_said(inlet: HostInlet) -> tuple[int, Piece]:
    """A piece that says nothing, so that something can be counted with it."""
    return inlet.buckets[0], Piece("", Kind.REJECTED, b"0")


def in_run(rows: pa.Table, run: Run) -> tuple[pa.Table, Runs]:
    """The rows of a run with their numbers in it."""
    size = rows.num_rows
    return rows.append_column(ARRIVAL, pa.array(np.arange(size))), (run._replace(size=size),)


def counted(lot: list[tuple[int, Piece]], rows: int, files: int, bad: int) -> pa.RecordBatch:
    """A lot of freight, whose first piece counts what was read for it."""
    freight = pack_freight(lot)
    rest = [0] * (freight.num_rows - 1)
    counts = [pa.array([count, *rest], pa.int64()) for count in (rows, files, bad)]
    return pa.RecordBatch.from_arrays([*freight.columns, *counts], schema=_COUNTED_FIELDS)


class _ChunkProgress(NamedTuple):
    """What a chunk said of progress."""

    said: pa.Table | None
    judged: TimeJudgement
    runs: Runs
    promises: tuple[int, ...]


class _Party:
    """Members and states that are given the same tuples: those stamped at a time or later, if they say so."""

    def __init__(self, time: int | None, states: Sequence[SharedState], members: Sequence[Member]) -> None:
        self.time = time
        self.states = [state.id for state in states]
        self.stateful = CommonSteps({state.id: _carry_arrival_numbers(state) for state in states})
        self.stateless = steps_for(tuple(members))
        self.has_members = bool(members)


_NOT_JUDGED = TimeJudgement(None, 0, None, None)


@dataclass
class FreightBuffer:
    """What has come together for members and states, as long as it is not sent on."""

    inlet: HostInlet
    batch_members: BatchMembers
    _kept: dict[str, list[pa.Table]] = field(default_factory=dict)
    _seen: dict[str, list[_ChunkProgress]] = field(default_factory=dict)
    _failed: dict[str, Exception] = field(default_factory=dict)
    _rows: int = 0
    _tuples: int = 0
    _beyond: int = 0
    _turn: int = 0
    _parties: dict[int, list[_Party]] = field(default_factory=dict)
    _begun: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        begins = [
            *(state.begin for state in self.batch_members.states),
            *(member.begin for member in self.batch_members.stateless),
        ]
        self.places = sorted({begin.position for begin in begins})

    @property
    def columns(self) -> pa.Schema:
        """The columns that are read for all of them, and for their progress."""
        schemas = [
            *(state.read for state in self.batch_members.states),
            *(member.read for member in self.batch_members.members),
        ]
        read = {field.name: field for schema in schemas for field in schema}
        if self.inlet.time is not None:
            read.setdefault(self.inlet.time, pa.field(self.inlet.time, STAMP))
        return pa.schema(list(read.values()))

    @property
    def is_full(self) -> bool:
        """Whether it is time to send on what is here. Numbers of arrival are those of one chunk."""
        return self._rows >= BUFFER_ROWS or self._tuples >= 8 * BUFFER_ROWS or self.inlet.ordered

    def take(
        self,
        tuples: pa.Table,
        times: pa.ChunkedArray | None,
        said: pa.Table | None,
        runs: Runs,
        place: int | None = None,
        promises: tuple[int, ...] = (),
    ) -> None:
        """Do the steps of all over some tuples with these time stamps, or of those that begin at a place or before."""
        self._tuples += tuples.num_rows
        for party in self._parties_at(place):
            if party.time is None or times is None:
                self._give(party, tuples, times, _ChunkProgress(said, _NOT_JUDGED, runs, promises))
            else:
                late_enough = pc.greater_equal(times, party.time)
                own = tuples.filter(late_enough), times.filter(late_enough)
                self._give(party, *own, _ChunkProgress(said, _NOT_JUDGED, runs, promises))

    def _parties_at(self, place: int | None) -> list[_Party]:
        """Those who have begun at a place, or all."""
        count = len(self.places) if place is None else bisect_right(self.places, place)
        if count not in self._parties:
            here = frozenset(self.places[:count])
            states = [state for state in self.batch_members.states if state.begin.position in here]
            members = [member for member in self.batch_members.stateless if member.begin.position in here]
            moments = dict.fromkeys([*(s.begin.time for s in states), *(m.begin.time for m in members)])
            self._parties[count] = [
                _Party(
                    after, [s for s in states if s.begin.time == after], [m for m in members if m.begin.time == after]
                )
                for after in moments
            ]
        return self._parties[count]

    def _give(self, party: _Party, tuples: pa.Table, times: pa.ChunkedArray | None, seen: _ChunkProgress) -> None:
        limits = self.inlet.limits
        if party.states:
            judged = _NOT_JUDGED if times is None else judge_times(limits, times)
            for state in party.states:
                self._seen.setdefault(state, []).append(seen._replace(judged=judged))
            self._keep(party.stateful, tuples if judged.good is None else tuples.filter(judged.good))
        if party.has_members:
            good = None if times is None or limits is None else limits.not_ahead(times)
            if good is not None:
                self._beyond += len(good) - int(pc.sum(good).as_py() or 0)
            self._keep(party.stateless, tuples if good is None else tuples.filter(good))

    def _keep(self, steps: CommonSteps | PatternSteps, tuples: pa.Table) -> None:
        found, failed = steps.rows(tuples)
        self._failed.update(failed)
        for who, rows in found.items():
            if rows.num_rows:
                self._kept.setdefault(who, []).append(rows)
                self._rows += rows.num_rows

    def unload(self) -> list[tuple[int, Piece]]:
        """All that is here, for the buckets."""
        lot: list[tuple[int, Piece]] = []
        for state in self.batch_members.states:
            if state.id in self._seen and state.id not in self._failed:
                try:
                    lot += self._packets(state)
                except Exception as problem:  # whatever a member does, the others go on
                    self._failed[state.id] = problem
        for member in self.batch_members.stateless:
            if member.id in self._kept and member.id not in self._failed:
                rows = pa.concat_tables(self._kept[member.id])
                lot.append((self._next_bucket(), Piece(member.id, Kind.ROWS, to_bytes(rows))))
        if self._beyond:
            lot.append((self._next_bucket(), Piece("", Kind.REJECTED, str(self._beyond).encode())))
        lot += [
            (self._next_bucket(), Piece(who, Kind.FAILED, encode_failure(why))) for who, why in self._failed.items()
        ]
        self._kept, self._seen, self._failed = {}, {}, {}
        self._rows = self._tuples = self._beyond = 0
        self._begun = time.perf_counter()
        return lot

    def _packets(self, state: SharedState) -> Iterable[tuple[int, Piece]]:
        kept = self._kept.get(state.id)
        rows = None if kept is None else pa.concat_tables(kept)
        oldest = None if rows is None else pc.min(rows[TIME]).as_py()
        seen = self._seen[state.id]
        newest = max((s.judged.newest for s in seen if s.judged.newest is not None), default=None)
        rejected = sum(s.judged.rejected for s in seen)
        promises = tuple((None, moment) for s in seen for moment in s.promises)
        progress = TaskProgress(newest, oldest, promises, rejected=rejected, feed=state.inlet.feed)
        marked = [s.said for s in seen if s.said is not None]
        if marked:
            progress = progress_of(state.inlet, _marks(state, pa.concat_tables(marked)), progress)
        if state.inlet.order is not None:
            progress = replace(progress, runs=tuple(run for s in seen for run in s.runs))
        packed = seal_packets(state.inlet, rows, progress, self._begun)
        buckets, payloads = (column.to_pylist() for column in packed.columns)
        return [(b, Piece(state.id, Kind.PACKET, p)) for b, p in zip(buckets, payloads, strict=True)]

    def _next_bucket(self) -> int:
        self._turn += 1
        return self.inlet.buckets[self._turn % len(self.inlet.buckets)]


def _marks(state: SharedState, said: pa.Table) -> pa.Table:
    """Marks with the columns that tuples have where they come to a state: groups are named by them."""
    rows = LazyRows.of(said)
    for step in state.before:
        rows = rows if isinstance(step, Keep) else step(rows, ())
    return rows.table().append_column(marks.MARK, said[marks.MARK])


def _carry_arrival_numbers(state: SharedState) -> tuple[Step, ...]:
    """The steps of a state; the numbers of arrival go along, if it wants them."""
    if state.inlet.order is None:
        return state.before
    number = (ARRIVAL, Whole(ColumnOf(ARRIVAL, None)), pa.int64())
    return tuple(
        replace(step, columns=(*step.columns, number)) if isinstance(step, Compute) and not step.beside else step
        for step in state.before
    )
