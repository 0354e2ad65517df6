"""User-defined aggregates in grouped windows equal what is written by hand; ALGEBRAIC ones keep parts, not tuples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.ordered.row_windows import RowWindows
from millstream.operators.ordered.session_windows import SessionWindows
from millstream.operators.ordered.slide_by_tuple import SlideByTupleWindows
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import TIME, Call, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.udas.sql_aggregate import SqlAggregate, Versions
from millstream.windows import Cumulate, Landmark, Rows, Session, SlideByTuple, Sliding
from tests.aggregates.test_laws import same
from tests.drawing import drawn
from tests.operators.by_hand import (
    ALGEBRAIC,
    EVERY,
    HIGHEST,
    ONLINE,
    TOTAL,
    Known,
    declared,
    state_of,
    user_streams,
    without_parts,
)
from tests.operators.harness import COUNT, KEYS, Case, assert_same, finals, numbers, run, schedules, table, whole
from tests.operators.ordered import test_row_windows, test_slide_by_tuple
from tests.udas.making import compiled

every = pytest.mark.parametrize("known", [*EVERY, *ONLINE], ids=lambda known: known.name)
algebraic = pytest.mark.parametrize("known", ALGEBRAIC, ids=lambda known: known.name)
few = drawn(10)

PANED = {
    "sliding": st.builds(Sliding, st.integers(1, 20), st.integers(1, 9), st.integers(-3, 3)),
    "tumbling": st.integers(1, 15).map(lambda n: Sliding(n, n)),
    "with gaps": st.integers(1, 6).flatmap(lambda n: st.builds(Sliding, st.just(n), st.integers(n + 1, 15))),
    "cumulate": st.integers(1, 5).flatmap(lambda n: st.builds(Cumulate, st.just(n), st.sampled_from([n, 3 * n]))),
    "landmark": st.builds(Landmark, st.integers(3, 17)),
}


def job(aggregate: SqlAggregate, window: Any, partition: int = 0) -> WindowAggregateJob:
    kind = aggregate.arguments[0]
    assert kind in (pa.int64(), pa.float64())
    calls = (COUNT, Call(aggregate, ("v",), names=("plain",)), Call(aggregate, ("v",), "wanted", ("filtered",)))
    return WindowAggregateJob(KEYS, calls, window, partition)


def typed(rows: pa.Table, aggregate: SqlAggregate) -> pa.Table:
    return rows.set_column(rows.column_names.index("v"), "v", rows["v"].cast(aggregate.arguments[0]))


def check(known: Known, case: Case, data: st.DataObject) -> None:
    out = run(case, data.draw(schedules(case.rows[TIME].to_pylist())))
    assert out.late == 0
    by_hand = job(known.by_hand, case.job.window, case.job.partition)
    assert_same(out.of("final"), finals(by_hand, case.rows))


@every
@few
@given(data=st.data(), kind=st.sampled_from(sorted(PANED)))
def test_windows_of_panes(known: Known, data: st.DataObject, kind: str) -> None:
    rows = typed(data.draw(numbers()), known.aggregate)
    check(known, Case(job(known.aggregate, data.draw(PANED[kind])), rows), data)


@every
@few
@given(data=st.data(), gap=st.integers(1, 12), partition=st.integers(0, 1))
def test_sessions(known: Known, data: st.DataObject, gap: int, partition: int) -> None:
    rows = typed(data.draw(numbers()), known.aggregate)
    work = job(known.aggregate, Session(gap), partition)
    check(known, Case(work, rows, SessionWindows, whole, partition), data)


@every
@few
@given(data=st.data(), partitioned=st.booleans())
def test_windows_of_rows(known: Known, data: st.DataObject, partitioned: bool) -> None:
    order = data.draw(st.sampled_from(["rank", "row"]))
    window = data.draw(
        st.builds(Rows, st.integers(1, 9), st.integers(1, 12), partitioned=st.just(partitioned), order=st.just(order))
    )
    stream = data.draw(user_streams(known.aggregate))
    work = test_row_windows.grouped(stream, window, partitioned)
    tables = stream.run(lambda b: RowWindows(work, b), ["k"] * partitioned)
    found = test_row_windows.placed(tables, partitioned)
    by_hand = replace(stream, aggregate=known.by_hand)
    test_row_windows.matched(by_hand, found, test_row_windows.expected(by_hand, window))


@every
@few
@given(data=st.data(), window=test_slide_by_tuple.WINDOWS, partitioned=st.booleans())
def test_slide_by_tuple_windows(known: Known, data: st.DataObject, window: SlideByTuple, partitioned: bool) -> None:
    stream = data.draw(user_streams(known.aggregate))
    work = test_row_windows.grouped(stream, window, partitioned)
    tables = stream.run(lambda b: SlideByTupleWindows(work, b), ["k"] * partitioned)
    test_slide_by_tuple.compare(replace(stream, aggregate=known.by_hand), window, partitioned, tables)


# -- ALGEBRAIC ---------------------------------------------------------------------------------------------


@algebraic
@drawn(40)
@given(data=st.data())
def test_parts_combine_into_the_whole(known: Known, data: st.DataObject) -> None:
    """However tuples are cut into parts, and in whatever order these are merged, packed or not."""
    aggregate, plain = known.aggregate, SqlAggregate(without_parts(known.versions))
    assert aggregate.algebraic
    assert not plain.algebraic
    row = st.tuples(st.integers(0, 9), st.none() | st.integers(-9, 9), st.integers(0, 3))
    rows = data.draw(st.lists(row, max_size=12))
    expected = plain.finish(state_of(plain, [r[1] for r in rows], [r[0] for r in rows])).to_pylist()
    state = aggregate.zero(1)
    for part in data.draw(st.permutations(range(4))):
        own = [r for r in rows if r[2] == part]
        other = state_of(aggregate, [r[1] for r in own], [r[0] for r in own])
        if data.draw(st.booleans()):
            other = aggregate.unpack(aggregate.pack(other))
        state = aggregate.merge(other, state) if data.draw(st.booleans()) else aggregate.merge(state, other)
    assert same(aggregate.finish(state).to_pylist(), expected)
    into = state_of(aggregate, [r[1] for r in rows[:5]], [r[0] for r in rows[:5]])
    kept = aggregate.finish(into).to_pylist()
    merged = aggregate.merge(into, aggregate.zero(1))
    rest = rows[5:]
    column = pa.array([r[1] for r in rest], aggregate.arguments[0])
    groups, times = (pa.array(v, pa.int64()).to_numpy() for v in ([0] * len(rest), [r[0] for r in rest]))
    assert same(aggregate.finish(aggregate.reduce(merged, groups, [column], times)).to_pylist(), expected)
    assert aggregate.finish(into).to_pylist() == kept, "a state that was merged has changed"


@algebraic
def test_a_pane_keeps_an_answer_and_no_tuples(known: Known) -> None:
    aggregate = known.aggregate
    work = job(aggregate, Sliding(40, 10))
    blobs = MemoryBlobs()
    most = 0
    for step in range(30):
        operator = PanedAggregate(work, blobs)
        for part in range(4):
            rows = [(step * 10 + i % 10, "a", i, True) for i in range(part * 250, part * 250 + 250)]
            operator.process(partial_states(work, typed(table(rows), aggregate)))
        list(operator.punctuate(Punctuation(step * 10 + 10, oldest=0)))
        list(operator.end_batch())
        most = max(most, sum(len(blob) for blob in blobs.blobs.values()))
    assert most < 20_000, "five panes of 1,000 tuples each"


@pytest.mark.parametrize(
    ("parameter", "result", "goes"),
    [("INT", "BIGINT", False), ("BIGINT", "INT", True), ("FLOAT", "DOUBLE", False), ("DOUBLE", "FLOAT", True)],
)
def test_answers_must_fit_the_parameters(parameter: str, result: str, goes: bool) -> None:
    text = TOTAL.replace("x BIGINT) : BIGINT", f"x {parameter}) : {result}").replace("(s BIGINT)", f"(s {result})")
    text = text.replace("s + x, s, x", f"CAST(s + x AS {result}), s, CAST(x AS {result})")
    text = text.replace("VALUES (x)", f"VALUES (CAST(x AS {result}))")
    body = compiled(text).body
    assert body.algebraic
    aggregate = SqlAggregate(Versions(body, None))
    assert aggregate.algebraic == goes
    assert aggregate.finish(state_of(aggregate, [1, 2, None], [3, 1, 2])).to_pylist() == [[{"total": 3}]]


def test_an_answer_of_other_columns_makes_no_parts() -> None:
    body = compiled(HIGHEST).body
    assert declared(HIGHEST, None).algebraic
    assert not Versions(replace(body, result=(*body.result, *body.result)), None).algebraic
