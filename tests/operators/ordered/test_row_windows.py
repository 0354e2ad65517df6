"""Row windows equal the oracle `extent()`, for any order within the slack, any cut, restarts and any bucket count."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.ordered.row_windows import RowWindows
from millstream.operators.window_aggregate_job import TIME, Call, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows import Rows, SlideByTuple
from millstream.windows.tuples import Tuple, ordered
from tests.aggregates.test_laws import same
from tests.operators.ordered.test_frame_states import every_aggregate
from tests.operators.over.test_over import COUNT, Stream, few, kept, named, some, some_rows, streams

KEYS = (("k", pa.string()), ("g", pa.int32()))
Place = tuple[object, ...]


def grouped(stream: Stream, window: Rows | SlideByTuple, partitioned: bool) -> WindowAggregateJob:
    arguments = tuple(f"x{i}" for i in range(len(stream.aggregate.arguments)))
    calls = (
        Call(named("count_star"), names=("count",)),
        Call(stream.aggregate, arguments, names=("answer", "again")),
        Call(stream.aggregate, arguments, "wanted", ("filtered",)),
    )
    return WindowAggregateJob(KEYS if partitioned else KEYS[1:], calls, window, int(partitioned))


def placed(tables: list[pa.Table], partitioned: bool) -> list[tuple[Place, dict[str, Any]]]:
    """Answers by window and group."""
    found = []
    for table in tables:
        ends = [table[name].cast(pa.int64()).to_pylist() for name in ("window_start", "window_end")]
        for row, *bounds in zip(table.to_pylist(), *ends, strict=True):
            found.append(((*bounds, row["k"] if partitioned else None, row["g"]), row))
    return found


def check(stream: Stream, row: dict[str, Any], extent: list[Any]) -> None:
    assert row["count"] == len(extent)
    assert same(row["answer"], stream.answer(extent))
    assert same(row["again"], row["answer"], slack=0)
    assert same(row["filtered"], stream.answer([r for r in extent if r.wanted]))


def expected(stream: Stream, window: Rows) -> list[tuple[Place, list[Any]]]:
    """The tuples of each group of each complete window, with the bounds of the window, by partition in its order."""
    by_id = stream.tuples(window.order)
    tuples = list(by_id.values())
    found: list[tuple[Place, list[Any]]] = []
    for wid in sorted(window.windows(tuples), key=str):
        if window.closed_by(wid, 10**9, tuples):
            extent: list[Any] = [t.value for t in ordered(window.extent(wid, tuples), window.order)]
            key = wid[1] if isinstance(wid, tuple) else None
            for group in {r.group for r in extent}:
                place = (*window.bounds(wid, tuples), key, group)
                found.append((place, [r for r in extent if r.group == group]))
    return found


def matched(stream: Stream, found: list[tuple[Place, dict[str, Any]]], wanted: list[tuple[Place, list[Any]]]) -> None:
    """Several windows may have the same bounds: then their answers are the same in some order."""

    def counts(pairs: list[tuple[Place, int]]) -> list[tuple[str, int]]:
        return sorted((str(place), count) for place, count in pairs)

    assert counts([(p, row["count"]) for p, row in found]) == counts([(p, len(rows)) for p, rows in wanted])
    rest = list(wanted)
    for place, row in found:
        for candidate in rest:
            if candidate[0] == place:
                try:
                    check(stream, row, candidate[1])
                except AssertionError:
                    continue
                rest.remove(candidate)
                break
        else:
            pytest.fail(f"{place}: {row} is not among {[c for c in rest if c[0] == place]}")


@st.composite
def row_windows(draw: st.DrawFn) -> Rows:
    sizes = st.integers(1, 7)
    return Rows(draw(sizes), draw(sizes), draw(st.booleans()), draw(st.sampled_from(["rank", "row"])))


@every_aggregate
@few
@given(data=st.data(), window=row_windows())
def test_equals_the_oracle(cls: type[Aggregate], data: st.DataObject, window: Rows) -> None:
    stream = data.draw(streams(cls))
    stream.numbered &= window.order == "rank"
    work = grouped(stream, window, window.partitioned)
    tables = stream.run(lambda b: RowWindows(work, b), ["k"] if window.partitioned else [])
    matched(stream, placed(tables, window.partitioned), expected(stream, window))


@some
@given(stream=streams(COUNT), window=row_windows(), pause=st.integers(-20, 30))
def test_a_stream_goes_on_after_its_end(stream: Stream, window: Rows, pause: int) -> None:
    stream.numbered = False
    work = grouped(stream, window, window.partitioned)
    blobs = MemoryBlobs()
    rows = sorted(stream.arrived, key=lambda r: r.time)
    tables: list[pa.Table] = []
    for part in ([r for r in rows if r.time < pause], [r for r in rows if r.time >= pause]):
        operator = RowWindows(work, blobs)
        if part:
            assert operator.process(stream.table(part)) == 0
        tables += operator.punctuate(Punctuation(0, final=True))
    stream.arrived = rows
    matched(stream, placed(tables, window.partitioned), expected(stream, window))


def work_of(window: Rows) -> WindowAggregateJob:
    calls = (Call(named("count_star"), names=("n",)), Call(named("sum", pa.int64()), ("v",), names=("s",)))
    return WindowAggregateJob((("k", pa.string()),), calls, window, 1)


@pytest.mark.parametrize("order", ["rank", "row"])
def test_tuples_are_kept_only_as_far_as_windows_reach(order: Any) -> None:
    blobs = MemoryBlobs()
    operator = RowWindows(work_of(Rows(50, 20, True, order)), blobs)
    answers = 0
    for step in range(100):
        operator.process(some_rows(range(step * 10, step * 10 + 10)))
        answers += sum(t.num_rows for t in operator.punctuate(Punctuation(step * 10 + 10)))
        assert kept(blobs) <= 50
        assert sum(len(blob) for blob in blobs.blobs.values()) < 60_000
    assert answers == 50


def test_late_tuples_are_counted_and_dropped() -> None:
    operator = RowWindows(work_of(Rows(2, 2, True)), MemoryBlobs())
    assert [operator.promise] == [None]
    assert operator.process(some_rows([3, 7, 12])) == 0
    (answers,) = operator.punctuate(Punctuation(10))
    assert answers["window_end"].cast(pa.int64()).to_pylist() == [7]
    assert operator.promise == 10
    assert operator.process(some_rows([9, 10, 2])) == 2
    assert operator.process(some_rows([11]).set_column(3, TIME, pa.array([None], pa.int64()))) == 0
    assert not list(operator.punctuate(Punctuation(30, group=(("k", "a"),))))
    (answers,) = operator.punctuate(Punctuation(30))
    assert answers.drop_columns(["window_start", "window_end"]).to_pylist() == [{"k": "a", "n": 2, "s": 2}]


def test_a_window_that_is_not_full_never_answers() -> None:
    operator = RowWindows(work_of(Rows(3, 3, True)), MemoryBlobs())
    operator.process(some_rows([1, 2]))
    assert not list(operator.punctuate(Punctuation(100)))
    assert not list(operator.punctuate(Punctuation(math.inf, final=True)))  # type: ignore[arg-type]


def test_unpartitioned_tuples_without_a_group_have_one_answer() -> None:
    work = WindowAggregateJob((), work_of(Rows(1, 1)).calls, Rows(4, 2))
    operator = RowWindows(work, MemoryBlobs())
    operator.process(some_rows([1, 2, 3, 4, 5]))
    assert [t["n"].to_pylist() for t in operator.punctuate(Punctuation(100))] == [[2, 4]]


def test_tuples_of_one_time_rank_by_their_values() -> None:
    rows = [Tuple(5, 1), Tuple(5, 2)]
    assert not Rows(1, 1).closed_by(0, 5, rows)
    operator = RowWindows(work_of(Rows(1, 1, True)), MemoryBlobs())
    operator.process(some_rows([5, 5]))
    assert not list(operator.punctuate(Punctuation(5)))
    assert sum(t.num_rows for t in operator.punctuate(Punctuation(6))) == 2
