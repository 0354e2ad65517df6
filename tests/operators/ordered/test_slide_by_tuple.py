"""Slide-by-tuple windows equal the oracle `extent()`, for any order within the slack, any cut, restarts and buckets."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.ordered.slide_by_tuple import SlideByTupleWindows
from millstream.operators.window_aggregate_job import TIME, Call, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows import SlideByTuple
from millstream.windows.tuples import Tuple
from tests.operators.ordered.test_frame_states import every_aggregate
from tests.operators.ordered.test_row_windows import Place, check, grouped, placed
from tests.operators.over.test_over import COUNT, Stream, few, kept, named, some, some_rows, streams

WINDOWS = st.builds(SlideByTuple, st.integers(1, 15), st.integers(1, 4), st.sampled_from(["rank", "row"]))


def expected(stream: Stream, window: SlideByTuple, partitioned: bool) -> dict[Place, list[Any]]:
    """The tuples of each group of each window; each partition has numbers of its own, from 1."""
    ordered = sorted(stream.tuples(window.order).values(), key=lambda t: t.row)
    found: dict[Place, list[Any]] = {}
    for key in {t.key for t in ordered} if partitioned else {None}:
        members = [t for t in ordered if not partitioned or t.key == key]
        tuples = [Tuple(t.time, number, None, t.value) for number, t in enumerate(members, 1)]
        for wid in window.windows(tuples):
            extent: Any = [t.value for t in window.extent(wid, tuples)]
            for row in stream.ranked(extent):
                found.setdefault((*window.bounds(wid), key, row.group), []).append(row)
    return found


def compare(stream: Stream, window: SlideByTuple, partitioned: bool, tables: list[pa.Table]) -> None:
    found = placed(tables, partitioned)
    wanted = expected(stream, window, partitioned)
    assert len(found) == len({place for place, _ in found}), "a window was answered twice"
    assert {place for place, _ in found} == wanted.keys()
    for place, row in found:
        check(stream, row, wanted[place])


@every_aggregate
@few
@given(data=st.data(), window=WINDOWS, partitioned=st.booleans())
def test_equals_the_oracle(cls: type[Aggregate], data: st.DataObject, window: SlideByTuple, partitioned: bool) -> None:
    stream = data.draw(streams(cls))
    stream.numbered &= window.order == "rank"
    work = grouped(stream, window, partitioned)
    compare(stream, window, partitioned, stream.run(lambda b: SlideByTupleWindows(work, b), ["k"] * partitioned))


@some
@given(stream=streams(COUNT), window=WINDOWS, pause=st.integers(-20, 30))
def test_a_stream_goes_on_after_its_end(stream: Stream, window: SlideByTuple, pause: int) -> None:
    stream.numbered = False
    work = grouped(stream, window, True)
    blobs = MemoryBlobs()
    rows = sorted(stream.arrived, key=lambda r: r.time)
    tables: list[pa.Table] = []
    for part in ([r for r in rows if r.time < pause], [r for r in rows if r.time >= pause]):
        operator = SlideByTupleWindows(work, blobs)
        if part:
            assert operator.process(stream.table(part)) == 0
        tables += operator.punctuate(Punctuation(0, final=True))
    stream.arrived = rows
    compare(stream, window, True, tables)


def work_of(window: SlideByTuple) -> WindowAggregateJob:
    calls = (Call(named("count_star"), names=("n",)), Call(named("sum", pa.int64()), ("v",), names=("s",)))
    return WindowAggregateJob((("k", pa.string()),), calls, window, 1)


@pytest.mark.parametrize("order", ["rank", "row"])
def test_tuples_are_kept_only_as_far_as_windows_reach(order: Any) -> None:
    blobs = MemoryBlobs()
    operator = SlideByTupleWindows(work_of(SlideByTuple(50, 5, order)), blobs)
    answers = 0
    for step in range(100):
        operator.process(some_rows(range(step * 10, step * 10 + 10)))
        answers += sum(t.num_rows for t in operator.punctuate(Punctuation(step * 10 + 10)))
        assert kept(blobs) <= 50
        assert sum(len(blob) for blob in blobs.blobs.values()) < 60_000
    assert answers == 200
    list(operator.punctuate(Punctuation(10_000)))
    assert kept(blobs) == 0


def test_late_tuples_are_counted_and_have_no_number() -> None:
    operator = SlideByTupleWindows(work_of(SlideByTuple(10, 2, "row")), MemoryBlobs())
    assert [operator.promise] == [None]
    assert operator.process(some_rows([3, 7, 12])) == 0
    (answers,) = operator.punctuate(Punctuation(10))
    assert answers["window_end"].cast(pa.int64()).to_pylist() == [7]
    assert operator.promise == 10
    assert operator.process(some_rows([9, 15, 2])) == 2
    assert operator.process(some_rows([11]).set_column(3, TIME, pa.array([None], pa.int64()))) == 0
    assert not list(operator.punctuate(Punctuation(15)))
    assert not list(operator.punctuate(Punctuation(30, group=(("k", "a"),))))
    (answers,) = operator.punctuate(Punctuation(30))
    assert answers["window_start"].cast(pa.int64()).to_pylist() == [5]
    assert answers.drop_columns(["window_start", "window_end"]).to_pylist() == [{"k": "a", "n": 3, "s": 3}]
