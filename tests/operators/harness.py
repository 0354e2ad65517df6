"""Runs operators of grouped windows as a host would, and says what they must answer.

The reference answer of a window and a group is the aggregate of all its tuples at once, and the tuples of a window
are those of `extent()`: neither panes nor merges are used.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import find
from millstream.operators.answers import EMITTED, END, START
from millstream.operators.blobs import Blobs, MemoryBlobs
from millstream.operators.contract import Operator
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import PANE, TIME, Call, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.spark.stage.packets import scatter
from millstream.windows.emit import Pace
from millstream.windows.landmark import Landmark
from millstream.windows.panes import Paned
from millstream.windows.tuples import Tuple
from tests.aggregates.arguments import CONSTANTS, bindings
from tests.aggregates.test_laws import APPROXIMATE, same, values

SLACK = 5

Row = tuple[Any, ...]
Place = tuple[Any, ...]
"""window_start, window_end, 'partial' or 'final', and the keys."""

Answers = dict[Place, tuple[Any, ...]]
Make = Callable[[WindowAggregateJob, Blobs], Operator]
Ingest = Callable[[WindowAggregateJob, pa.Table], pa.Table]


def whole(job: WindowAggregateJob, rows: pa.Table) -> pa.Table:
    """What operators that want whole tuples are given."""
    return rows


@dataclass
class Case:
    """A job, its tuples as they arrive, and the columns that choose a bucket."""

    job: WindowAggregateJob
    rows: pa.Table
    make: Make = PanedAggregate
    ingest: Ingest = partial_states
    scattered: int | None = None

    @property
    def scattered_by(self) -> list[str]:
        return self.job.key_names[: self.scattered]


@dataclass
class Run:
    """What came of a run: the answers in order, and the stores at the end."""

    answers: list[tuple[Place, tuple[Any, ...]]] = field(default_factory=list)
    stores: list[MemoryBlobs] = field(default_factory=list)
    late: int = 0

    def collect(self, job: WindowAggregateJob, tables: Sequence[pa.Table]) -> None:
        for table in tables:
            self.answers += read(job, table)

    def of(self, emitted: str) -> Answers:
        """The answers of a kind; none may have come twice."""
        chosen = [(place, values) for place, values in self.answers if place[2] == emitted]
        assert len(chosen) == len({place for place, _ in chosen}), "something was answered twice"
        return dict(chosen)


def read(job: WindowAggregateJob, table: pa.Table) -> list[tuple[Place, tuple[Any, ...]]]:
    """The answers of a table."""
    starts, ends = (table[name].cast(pa.int64()).to_pylist() for name in (START, END))
    emitted = table[EMITTED].to_pylist() if job.emit else ["final"] * len(table)
    keys = [table[name].to_pylist() for name in job.key_names]
    places = zip(starts, ends, emitted, *keys, strict=True)
    columns = [table[name].to_pylist() for call in job.calls for name in call.names]
    return list(zip(places, zip(*columns, strict=True) if columns else [()] * len(table), strict=True))


@dataclass(frozen=True)
class Schedule:
    """How tuples come: into how many buckets, in which batches, and whether everything restarts after each."""

    order: list[int]
    cuts: list[int]
    buckets: int = 1
    restarts: bool = False
    ticks: bool = False

    def batches(self, rows: pa.Table) -> list[pa.Table]:
        arrived = rows.take(pa.array(self.order, pa.int64()))
        cuts = [0, *self.cuts, len(self.order)]
        return [arrived.slice(a, b - a) for a, b in pairwise(cuts)]


@st.composite
def schedules(draw: st.DrawFn, times: list[int]) -> Schedule:
    """Any order within the slack, which is that of time plus a delay of at most the slack."""
    count = len(times)
    delays = draw(st.lists(st.integers(0, SLACK), min_size=count, max_size=count))
    order = sorted(range(count), key=lambda i: times[i] + delays[i])
    cuts = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    return Schedule(order, cuts, draw(st.integers(1, 7)), draw(st.booleans()), draw(st.booleans()))


def packets(batch: pa.Table) -> list[pa.Table]:
    """A batch in two parts: the host gives an operator what each task has made of it."""
    half = batch.num_rows // 2
    return [batch.slice(0, half), batch.slice(half)]


def run(case: Case, schedule: Schedule) -> Run:
    """Run a case to its end, as the host does."""
    job, out = case.job, Run([], [MemoryBlobs() for _ in range(schedule.buckets)])
    operators = [case.make(job, store) for store in out.stores]
    oldest: int | None = None
    newest: int | None = None
    batches = schedule.batches(case.rows)
    for number, batch in enumerate(batches):
        times = batch[TIME].to_pylist()
        if times:
            oldest = min(times) if oldest is None else min(oldest, *times)
            newest = max(times) if newest is None else max(newest, *times)
            for packet in packets(batch):
                prepared = case.ingest(job, packet)
                for bucket, part in enumerate(scatter(prepared, case.scattered_by, schedule.buckets)):
                    out.late += operators[bucket].process(part)
                if isinstance(job.window, Landmark):
                    for operator in operators:
                        operator.note_busy_places(pc.unique(prepared[PANE if PANE in prepared.column_names else TIME]))
        for operator in operators:
            if newest is not None:
                out.collect(job, list(operator.punctuate(Punctuation(newest - SLACK, oldest=oldest))))
            if number == len(batches) - 1:
                final = Punctuation(newest or 0, final=True, oldest=oldest)
                out.collect(job, list(operator.punctuate(final)))
            if schedule.ticks:
                out.collect(job, list(operator.tick()))
            out.collect(job, list(operator.end_batch()))
        if schedule.restarts:
            operators = [case.make(job, store) for store in out.stores]
    return out


# -- the oracle --------------------------------------------------------------------------------------------


def tuples_of(job: WindowAggregateJob, rows: pa.Table) -> list[Tuple]:
    """The rows as windows see them: the key of a tuple is its partition."""
    times = rows[TIME].to_pylist()
    keys = [rows[name].to_pylist() for name in job.key_names[: job.partition]]
    partitions: list[Hashable] = list(zip(*keys, strict=True)) if keys else [None] * len(times)
    return [Tuple(time, row, key) for row, (time, key) in enumerate(zip(times, partitions, strict=True))]


def finals(job: WindowAggregateJob, rows: pa.Table) -> Answers:
    """What every window must answer in the end."""
    tuples = tuples_of(job, rows)
    extents: dict[Place, list[int]] = {}
    for wid in job.window.windows(tuples):  # sessions of several partitions may have the same bounds
        rows_of = extents.setdefault((*job.window.bounds(wid, tuples), "final"), [])
        rows_of += [t.row for t in job.window.extent(wid, tuples)]
    return reference(job, rows, extents)


def partials(job: WindowAggregateJob, rows: pa.Table) -> dict[Place, list[tuple[Any, ...]]]:
    """What EMIT EVERY ... of event time must answer, in this order, until a window is complete."""
    window, emit = job.window, job.emit
    assert isinstance(window, Paned)
    assert emit is not None
    assert emit.pace is Pace.EVENT
    tuples = tuples_of(job, rows)
    oldest, newest = min(t.time for t in tuples), max(t.time for t in tuples)
    first = (oldest - window.origin) // emit.every
    extents: dict[Place, list[int]] = {}
    for time in range(window.origin + first * emit.every, newest + 1, emit.every):
        if isinstance(window, Landmark) and not any(time - emit.every <= t.time < time for t in tuples):
            continue
        wid = next(w for w in range(window.first_open(time) - 3, 10**9) if window.bounds(w)[1] > time)
        start, end = window.bounds(wid)
        if window.bounds(wid - 1)[1] != time and (start is None or start < time):
            extents[(start, end, "partial", time)] = [t.row for t in window.extent(wid, tuples) if t.time < time]
    expected: dict[Place, list[tuple[Any, ...]]] = {}
    for (start, end, emitted, _, *keys), results in reference(job, rows, extents).items():
        expected.setdefault((start, end, emitted, *keys), []).append(results)
    return expected


def reference(job: WindowAggregateJob, rows: pa.Table, extents: dict[Place, list[int]]) -> Answers:
    """The answers of windows, given the numbers of the rows in each."""
    keys = list(zip(*(rows[name].to_pylist() for name in job.key_names), strict=True)) or [()] * len(rows)
    places: dict[Place, int] = {}
    at: list[int] = []
    groups: list[int] = []
    for place, members in extents.items():
        for row in members:
            at.append(row)
            groups.append(places.setdefault((*place, *keys[row]), len(places)))
    chosen = rows.take(pa.array(at, pa.int64()))
    columns: list[list[Any]] = []
    for call in job.calls:
        columns += [_answers_of(call, chosen, np.array(groups, dtype=np.int64), len(places))] * len(call.names)
    return dict(zip(places, zip(*columns, strict=True) if columns else [()] * len(places), strict=True))


def _answers_of(call: Call, rows: pa.Table, groups: np.ndarray[Any, Any], size: int) -> list[Any]:
    if call.condition is not None:
        wanted = [bool(w) for w in rows[call.condition].to_pylist()]
        rows, groups = rows.filter(pa.array(wanted, pa.bool_())), groups[np.array(wanted, dtype=bool)]
    arguments = [rows[name].combine_chunks() for name in call.arguments]
    times = rows[TIME].to_numpy().astype(np.int64)
    answers: list[Any] = call.aggregate.finish(
        call.aggregate.reduce(call.aggregate.zero(size), groups, arguments, times)
    ).to_pylist()
    return answers


def assert_same(found: Answers, expected: Answers) -> None:
    """Compare answers; floats may differ by rounding."""
    assert found.keys() == expected.keys()
    for place, theirs in expected.items():
        assert same(list(found[place]), list(theirs)), (place, found[place], theirs)


def assert_partials(run: Run, job: WindowAggregateJob, rows: pa.Table) -> None:
    """Compare the partials of a run with EMIT by event time: all of them, in order, and none after its final."""
    found: dict[Any, list[Any]] = {}
    complete = set()
    for (start, end, emitted, *keys), results in run.answers:
        if emitted == "final":
            complete.add((start, end, *keys))
        else:
            assert (start, end, *keys) not in complete, "a window was answered after its final"
            found.setdefault((start, end, emitted, *keys), []).append(results)
    expected = partials(job, rows)
    assert found.keys() == expected.keys()
    for place, answers in expected.items():
        assert same([list(a) for a in found[place]], [list(a) for a in answers]), place


def check(case: Case, data: st.DataObject) -> Run:
    """Run a case in a drawn way and compare its finals with the oracle."""
    out = run(case, data.draw(schedules(case.rows[TIME].to_pylist())))
    assert out.late == 0
    assert_same(out.of("final"), finals(case.job, case.rows))
    return out


# -- jobs --------------------------------------------------------------------------------------------------

KEYS = (("k", pa.string()),)


def aggregate(name: str, *types: pa.DataType) -> Aggregate:
    found = find(name)
    assert found is not None
    return found(list(types))


COUNT = Call(aggregate("count_star"), names=("n",))
NUMBERS = (
    COUNT,
    Call(aggregate("sum", pa.int64()), ("v",), names=("total",)),
    Call(aggregate("max", pa.int64()), ("v",), names=("most",)),
    Call(aggregate("avg", pa.int64()), ("v",), "wanted", ("mean",)),
)
"""Calls over the rows of `numbers`."""


def table(rows: Sequence[Row], keys: Sequence[tuple[str, pa.DataType]] = KEYS) -> pa.Table:
    """Rows of (time, keys, v, wanted)."""
    columns = list(zip(*rows, strict=True)) or [()] * (len(keys) + 3)
    data = {TIME: pa.array(columns[0], pa.int64())}
    data.update((name, pa.array(columns[1 + i], type_)) for i, (name, type_) in enumerate(keys))
    data["v"] = pa.array(columns[-2], pa.int64())
    data["wanted"] = pa.array(columns[-1], pa.bool_())
    return pa.table(data)


TIMES = st.sampled_from([st.integers(-40, 60), st.integers(-4, 12)])
"""Far apart, or so close that many tuples meet in a pane."""

KEY = st.sampled_from(["a", "b", None])


@st.composite
def numbers(draw: st.DrawFn, keys: int = 1, key: st.SearchStrategy[str | None] = KEY) -> pa.Table:
    """Tuples with a number, which may be NULL, and a condition for FILTER."""
    row = st.tuples(draw(TIMES), *[key] * keys, st.none() | st.integers(-9, 9), st.sampled_from([True, False, None]))
    names = [(f"k{i}" if i else "k", pa.string()) for i in range(keys)]
    return table(draw(st.lists(row, min_size=1, max_size=40)), names)


@st.composite
def tuples_for(draw: st.DrawFn, cls: type[Aggregate]) -> tuple[tuple[Call, ...], pa.Table]:
    """Calls of an aggregate, with and without FILTER, and tuples with arguments of a type that it takes."""
    kinds = draw(st.sampled_from(bindings(cls)))
    parts = [st.one_of(st.none(), *[values(kind, cls.name in APPROXIMATE)] * 3) for kind in kinds]
    if cls.name in CONSTANTS:
        parts[1] = st.just(CONSTANTS[cls.name][1])
    drawn = draw(st.lists(st.tuples(draw(TIMES), KEY, st.booleans(), *parts), min_size=1, max_size=25))
    columns = list(zip(*drawn, strict=True))
    names = tuple(f"x{i}" for i in range(len(kinds)))
    data = {TIME: pa.array(columns[0], pa.int64()), "k": pa.array(columns[1], pa.string())}
    data["wanted"] = pa.array(columns[2], pa.bool_())
    data.update((name, pa.array(columns[3 + i], kinds[i])) for i, name in enumerate(names))
    bound = cls(kinds)
    calls = (COUNT, Call(bound, names, names=("plain",)), Call(bound, names, "wanted", ("filtered",)))
    return calls, pa.table(data)
