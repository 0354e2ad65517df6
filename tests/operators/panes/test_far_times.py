"""Tuples thousands of years apart: what an operator does follows the tuples, not the calendar in between."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.catalog.ahead import EARLIEST, LATEST
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.contract import Operator
from millstream.operators.join.window_join import WindowJoin
from millstream.operators.join.window_join_job import JoinKind, WindowJoinJob
from millstream.operators.ordered.session_windows import SessionWindows
from millstream.operators.ordered.slide_by_tuple import SlideByTupleWindows
from millstream.operators.over.over import OverAggregate
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.panes.from_first import FromFirst
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.cumulate import Cumulate
from millstream.windows.emit import Emit, Pace
from millstream.windows.landmark import Landmark
from millstream.windows.over_range import OverRange
from millstream.windows.panes import Paned
from millstream.windows.reach import Band
from millstream.windows.session import Session
from millstream.windows.slide_by_tuple import SlideByTuple
from millstream.windows.sliding import Sliding
from tests.operators.harness import KEYS, NUMBERS, read, table

YEAR = 365 * 24 * 3600 * 10**6
FIRST, LAST = -1970 * YEAR, 8029 * YEAR
ROWS = [(FIRST, "a", 1, True), (0, "b", 2, True), (7, "a", 3, True), (129 * YEAR, "a", 4, True), (LAST, "b", 5, True)]
EMITS = [None, *(Emit(pace, 2) for pace in Pace)]

WINDOWS = {"landmark": Landmark(3), "tiny slides": Sliding(20, 1), "gaps": Sliding(8, 9), "cumulate": Cumulate(2, 10)}


@pytest.mark.parametrize("emit", EMITS, ids=lambda emit: emit.pace.value if emit else "final")
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_windows_are_answered_where_tuples_are(window: Paned, emit: Emit | None) -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, window, emit=emit)
    operator = PanedAggregate(job, store := MemoryBlobs())
    operator.process(partial_states(job, table(ROWS)))
    found = [a for t in operator.end_batch() for a in read(job, t)]
    operator = PanedAggregate(job, store)
    assert operator.waits is not None
    for said in (Punctuation(5), Punctuation(LAST), Punctuation(LAST, final=True)):
        found += [a for t in operator.punctuate(said) for a in read(job, t)]
        found += [a for step in (operator.tick, operator.end_batch) for t in step() for a in read(job, t)]
    ends = {place[1] for place, _ in found if place[2] == "final"}
    assert ends == {window.bounds(wid)[1] for time, *_ in ROWS for wid in window.wids_at(time)}
    assert len(found) < 1000


@pytest.mark.parametrize("emit", EMITS, ids=lambda emit: emit.pace.value if emit else "final")
def test_windows_from_the_first_time_stamp_on(emit: Emit | None) -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Landmark(3), emit=emit, from_first=True)
    operator = FromFirst(job, store := MemoryBlobs())
    operator.process(table(ROWS))
    operator.note_busy_places(table([(FIRST + 100, "c", 1, True)])[TIME].combine_chunks())
    list(operator.end_batch())
    operator = FromFirst(job, store)
    answers = list(operator.punctuate(Punctuation(LAST, final=True, oldest=FIRST)))
    ends = {place[1] for t in answers for place, _ in read(job, t) if place[2] == "final"}
    assert ends == {FIRST + (time - FIRST) // 3 * 3 + 3 for time in [FIRST + 100, *(time for time, *_ in ROWS)]}
    assert store.get("stirred") is None


ENDS = [(EARLIEST, "a", 1, True), *ROWS, (LATEST, "a", 6, True)]
"""With the furthest times that a stage lets in."""


def all_answers(operator: Operator, rows: pa.Table) -> pa.Table:
    operator.process(rows)
    said = (Punctuation(5), Punctuation(LAST), Punctuation(LATEST, final=True))
    return pa.concat_tables([t for one in said for t in operator.punctuate(one)])


def test_sessions() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS[:1], Session(8), 0)
    found = [place for place, _ in read(job, all_answers(SessionWindows(job, MemoryBlobs()), table(ENDS)))]
    assert sorted(end for _, end, *_ in found) == [
        EARLIEST + 8,
        FIRST + 8,
        15,
        15,
        129 * YEAR + 8,
        LAST + 8,
        LATEST + 8,
    ]


def test_slides_by_tuple() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS[:1], SlideByTuple(10**18, 3, "rank"), 1)
    found = read(job, all_answers(SlideByTupleWindows(job, MemoryBlobs()), table(ENDS)))
    assert [place[1] for place, _ in found] == [7, LAST] or [place[1] for place, _ in found] == [7]


@pytest.mark.parametrize("slide", [None, 5])
def test_over_ranges(slide: int | None) -> None:
    window = OverRange(10**17, slide)
    job = OverAggregateJob(KEYS, (OverCall(NUMBERS[0], window),), (TIME,))
    found = all_answers(OverAggregate(job, MemoryBlobs()), table(ENDS))
    assert found[TIME].to_pylist() == [time for time, *_ in ENDS]
    assert found["n"].to_pylist() == [1, 1, 1, 2, 3, 1, 1]


def test_joins() -> None:
    sides = [pa.schema([(f"{side}t", pa.int64())]) for side in "lr"]
    operator = WindowJoin(WindowJoinJob(JoinKind.FULL, Band(-3, 10**17), 0, *sides), MemoryBlobs())
    times = [time for time, *_ in ENDS]
    for port, side in enumerate("lr"):
        operator.process(pa.table({f"{side}t": times, TIME: times}), port)
        assert not list(operator.punctuate(Punctuation(LAST, port=port)))
        assert not list(operator.punctuate(Punctuation(LATEST, final=True, port=port)))
    found = pa.concat_tables(operator.end_batch())
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == sorted(
        (left, right) for left in times for right in times if -3 <= right - left <= 10**17
    )
