"""EMIT: answers while a window fills. Finals come as without it; partials by event time do not depend on arrival."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.cumulate import Cumulate
from millstream.windows.emit import Emit, Pace
from millstream.windows.landmark import Landmark
from millstream.windows.panes import Paned
from millstream.windows.sliding import Sliding
from tests.drawing import drawn
from tests.operators.harness import (
    COUNT,
    KEYS,
    NUMBERS,
    SLACK,
    Answers,
    Case,
    Place,
    Row,
    assert_partials,
    assert_same,
    check,
    numbers,
    packets,
    read,
    reference,
    schedules,
    table,
    tuples_of,
)

WINDOWS = st.one_of(
    st.builds(Sliding, st.integers(1, 17), st.integers(1, 17), st.integers(-3, 3)),
    st.builds(lambda step, steps, origin: Cumulate(step, step * steps, origin), *[st.integers(1, 5)] * 3),
    st.builds(Landmark, st.integers(1, 17), st.integers(-3, 3)),
)


@drawn(150)
@given(data=st.data(), window=WINDOWS, every=st.integers(1, 20), rows=numbers())
def test_partials_by_event_time_equal_the_oracle(
    data: st.DataObject, window: Paned, every: int, rows: pa.Table
) -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, window, emit=Emit(Pace.EVENT, every))
    run = check(Case(job, rows), data)
    assert_partials(run, job, rows)


@drawn(120)
@given(
    data=st.data(),
    window=WINDOWS,
    emit=st.builds(Emit, st.sampled_from([Pace.ROWS, Pace.CHANGE, Pace.WALL]), st.integers(1, 5)),
    rows=numbers(),
)
def test_finals_are_those_of_a_job_without_emit(data: st.DataObject, window: Paned, emit: Emit, rows: pa.Table) -> None:
    case = Case(WindowAggregateJob(KEYS, NUMBERS, window, emit=emit), rows)
    run = check(case, data)
    last = {place: i for i, (place, _) in enumerate(run.answers)}
    for (start, end, emitted, *keys), number in last.items():
        if emitted == "partial":
            assert number < last[(start, end, "final", *keys)], "a window was answered after its final"


@drawn(120)
@given(
    data=st.data(),
    window=WINDOWS,
    emit=st.builds(Emit, st.sampled_from([Pace.ROWS, Pace.CHANGE]), st.integers(1, 5)),
    rows=numbers(),
)
def test_partials_by_batch_equal_the_oracle(data: st.DataObject, window: Paned, emit: Emit, rows: pa.Table) -> None:
    schedule = data.draw(schedules(rows[TIME].to_pylist()))
    job = WindowAggregateJob(KEYS, NUMBERS, window, emit=emit)
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    seen = rows.slice(0, 0)
    for batch in schedule.batches(rows):
        before = seen.num_rows
        seen = pa.concat_tables([seen, batch])
        for packet in packets(batch):
            assert operator.process(partial_states(job, packet)) == 0
        if seen.num_rows:
            list(operator.punctuate(Punctuation(max(seen[TIME].to_pylist()) - SLACK)))
        found = [answer for table in operator.end_batch() for answer in read(job, table)]
        assert len(found) == len(dict(found))
        assert_same(dict(found), _by_batch(job, seen, before, operator.promise))
        if schedule.restarts:
            operator = PanedAggregate(job, store)


def _by_batch(job: WindowAggregateJob, rows: pa.Table, before: int, low_watermark: int | None) -> Answers:
    """The answers of open windows that the rows from `before` on have changed."""
    assert isinstance(job.window, Paned)
    assert job.emit is not None
    tuples = tuples_of(job, rows)
    extents: dict[Place, list[int]] = {}
    for wid in job.window.windows(tuples):
        if low_watermark is not None and job.window.closed_by(wid, low_watermark):
            continue
        extents[(*job.window.bounds(wid), "partial")] = [t.row for t in job.window.extent(wid, tuples)]
    new = reference(job, rows, extents)
    old = reference(job, rows, {place: [i for i in at if i < before] for place, at in extents.items()})

    def is_due(place: Place) -> bool:
        assert job.emit is not None
        if job.emit.pace is Pace.CHANGE:
            return old.get(place) != new[place]
        earlier = old[place][0] if place in old else 0
        return int(new[place][0] // job.emit.every) > int(earlier // job.emit.every)

    return {place: results for place, results in new.items() if is_due(place)}


class Told:
    """An operator that is told batches and starts anew before each; gives (start, end, key, count, 'partial')."""

    def __init__(self, window: Paned, emit: Emit) -> None:
        self.job = WindowAggregateJob(KEYS, NUMBERS, window, emit=emit)
        self.store = MemoryBlobs()
        self.renew()

    def renew(self) -> None:
        self.operator = PanedAggregate(self.job, self.store)

    def batch(self, *rows: Row, until: int | None = None, tick: bool = False) -> list[tuple[Any, ...]]:
        self.renew()
        tuples = table([(time, key, value, True) for time, key, value in rows])
        assert self.operator.process(partial_states(self.job, tuples)) == 0
        answers: list[pa.Table] = []
        if until is not None:
            answers += self.operator.punctuate(Punctuation(until))
        if tick:
            answers += self.operator.tick()
        answers += self.operator.end_batch()
        return list(self._told(answers))

    def _told(self, answers: list[pa.Table]) -> Iterator[tuple[Any, ...]]:
        for answer in answers:
            for (start, end, emitted, key), (count, *_) in read(self.job, answer):
                yield start, end, key, count, emitted


def test_every_so_many_rows() -> None:
    told = Told(Sliding(10, 5), Emit(Pace.ROWS, 2))
    assert told.batch((6, "a", 1), (7, "b", 1)) == []
    assert told.batch((8, "a", 1)) == [(0, 10, "a", 2, "partial"), (5, 15, "a", 2, "partial")]
    # b has one row in the older window and two in the newer; a jumps over a multiple.
    found = told.batch((12, "b", 1), (12, "a", 1), (13, "a", 1), (14, "a", 1))
    assert found == [(5, 15, "a", 5, "partial"), (5, 15, "b", 2, "partial"), (10, 20, "a", 3, "partial")]
    assert told.batch((9, "b", 1), until=10) == [(0, 10, "a", 2, "final"), (0, 10, "b", 2, "final")]
    assert told.batch((15, "a", 1)) == [(10, 20, "a", 4, "partial")]


def test_on_change() -> None:
    told = Told(Sliding(10, 10), Emit(Pace.CHANGE))
    assert told.batch((1, "a", 5), (2, "b", None)) == [(0, 10, "a", 1, "partial"), (0, 10, "b", 1, "partial")]
    assert told.batch() == []
    assert told.batch((3, "a", 2), (11, "c", 1)) == [(0, 10, "a", 2, "partial"), (10, 20, "c", 1, "partial")]
    assert told.batch((4, "a", 9), (12, "c", 1), until=10) == [
        *((0, 10, "a", 3, "final"), (0, 10, "b", 1, "final")),
        (10, 20, "c", 2, "partial"),
    ]


def test_on_change_leaves_out_what_stays_the_same() -> None:
    most = NUMBERS[2]
    job = WindowAggregateJob(KEYS, (replace(COUNT, names=()), most), Sliding(10, 10), emit=Emit(Pace.CHANGE))
    operator = PanedAggregate(job, MemoryBlobs())
    found = []
    for step, (a, b) in enumerate([(5, None), (4, None), (6, 1)]):
        operator.process(partial_states(job, table([(step, "a", a, True), (step, "b", b, True)])))
        found.append([answer for t in operator.end_batch() for answer in read(job, t)])
    assert found == [
        [((0, 10, "partial", "a"), (5,)), ((0, 10, "partial", "b"), (None,))],
        [],
        [((0, 10, "partial", "a"), (6,)), ((0, 10, "partial", "b"), (1,))],
    ]


def test_by_the_wall_clock() -> None:
    told = Told(Sliding(10, 5), Emit(Pace.WALL, 1))
    assert told.batch((6, "a", 1), (12, "b", 1)) == []
    assert told.batch(tick=True) == [
        *((0, 10, "a", 1, "partial"), (5, 15, "a", 1, "partial")),
        *((5, 15, "b", 1, "partial"), (10, 20, "b", 1, "partial")),
    ]
    assert told.batch(tick=True) == []
    # Window 0 to 10 is complete by the time the clock asks; in the next one all groups are answered.
    assert told.batch((7, "a", 1), until=11) == [(0, 10, "a", 2, "final")]
    assert told.batch(tick=True) == [(5, 15, "a", 2, "partial"), (5, 15, "b", 1, "partial")]


@pytest.mark.parametrize("pace", [Pace.ROWS, Pace.CHANGE])
def test_landmarks_by_batch(pace: Pace) -> None:
    told = Told(Landmark(10), Emit(pace, 1))
    assert told.batch((1, "a", 1), (12, "b", 1)) == [
        *((None, 10, "a", 1, "partial"), (None, 20, "a", 1, "partial"), (None, 20, "b", 1, "partial"))
    ]
    # Only windows that are still open; the old panes are joined after that.
    assert told.batch((8, "a", 2), until=10) == [(None, 10, "a", 2, "final"), (None, 20, "a", 2, "partial")]
    assert told.batch((25, "b", 1), until=20) == [
        *((None, 20, "a", 2, "final"), (None, 20, "b", 1, "final")),
        (None, 30, "b", 2, "partial"),
    ]


def _read(job: WindowAggregateJob, tables: Iterator[pa.Table]) -> list[Any]:
    return [answer for found in tables for answer in read(job, found)]


def test_a_landmark_is_answered_at_a_beat_after_its_window_has_closed() -> None:
    job = WindowAggregateJob(KEYS, (COUNT,), Landmark(2), emit=Emit(Pace.EVENT, 3))
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    operator.process(partial_states(job, table([(0, "a", 1, True), (7, "a", 1, True)])))
    assert _read(job, operator.punctuate(Punctuation(2))) == [((None, 2, "final", "a"), (1,))]
    list(operator.end_batch())
    operator = PanedAggregate(job, store)
    assert _read(job, operator.punctuate(Punctuation(3))) == [((None, 4, "partial", "a"), (1,))]
    assert _read(job, operator.punctuate(Punctuation(8))) == [((None, 8, "final", "a"), (2,))]


def test_landmarks_by_the_wall_clock() -> None:
    told = Told(Landmark(10), Emit(Pace.WALL, 1))
    told.batch((1, "a", 1), (12, "b", 1), (15, "a", 1))
    assert told.batch(until=10) == [(None, 10, "a", 1, "final")]
    assert told.batch(tick=True) == [(None, 20, "a", 2, "partial"), (None, 20, "b", 1, "partial")]
    assert told.batch(tick=True) == []
    for time in range(20, 500):
        told.batch((time, "a", 1), until=time)
    assert len(json.loads(told.store.blobs["touched"])) <= 2, "as long as nobody asks, nothing piles up"


def test_windows_and_their_partials_come_in_the_order_of_time() -> None:
    told = Told(Sliding(10, 10), Emit(Pace.EVENT, 4))
    assert told.batch((1, "a", 1), (5, "a", 1), (13, "b", 1), until=17) == [
        *((0, 10, "a", 1, "partial"), (0, 10, "a", 2, "partial"), (0, 10, "a", 2, "final")),
        (10, 20, "b", 1, "partial"),
    ]


def test_without_emit_no_column_says_so() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Sliding(10, 10))
    operator = PanedAggregate(job, MemoryBlobs())
    operator.process(partial_states(job, table([(1, "a", 1, True)])))
    (answer,) = operator.punctuate(Punctuation(1, final=True))
    assert "emitted" not in answer.column_names
    assert TIME not in answer.column_names
    assert list(operator.tick()) == []
