"""OVER equals the oracle `extent()`, for any order within the slack, any cut, restarts and any bucket count."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import find
from millstream.errors import SettingError
from millstream.operators.blobs import Blobs, MemoryBlobs
from millstream.operators.contract import Operator
from millstream.operators.over.over import OverAggregate
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.tuples.tuple_log import TupleLog
from millstream.operators.window_aggregate_job import ARRIVAL, TIME, Call
from millstream.progress.punctuation import Punctuation
from millstream.spark.stage.packets import scatter
from millstream.windows.over_range import OverRange
from millstream.windows.over_rows import OverRows
from millstream.windows.tuples import Tuple, ordered
from tests.aggregates.arguments import bindings
from tests.aggregates.test_laws import same
from tests.drawing import drawn
from tests.operators.ordered.test_frame_states import argument_values, every_aggregate, whole

SLACK = 5
PRECEDING = st.none() | st.integers(0, 9)
few = drawn(6)
some = drawn(40)


@dataclass(frozen=True)
class Row:
    """A tuple. Without numbers for their arrival, tuples of one time rank by `tie`, NULL first, and then by `id`."""

    time: int
    tie: int | None
    id: int
    key: str | None
    group: int
    wanted: bool | None
    arguments: tuple[Any, ...]


@dataclass
class Stream:
    """An aggregate and tuples for it, in the order of their arrival, cut into batches.

    Those that are `numbered` come in any order in their batch, and bear the numbers by which they arrived.
    """

    aggregate: Aggregate
    arrived: list[Row]
    cuts: list[int]
    restarts: bool
    buckets: int
    numbered: bool = False

    def table(self, rows: Sequence[Row]) -> pa.Table:
        return pa.table(
            {
                "tie": pa.array([r.tie for r in rows], pa.int64()),
                "id": pa.array([r.id for r in rows], pa.int64()),
                "k": pa.array([r.key for r in rows], pa.string()),
                "g": pa.array([r.group for r in rows], pa.int32()),
                "wanted": pa.array([r.wanted for r in rows], pa.bool_()),
                TIME: pa.array([r.time for r in rows], pa.int64()),
                **{
                    f"x{i}": pa.array([r.arguments[i] for r in rows], kind)
                    for i, kind in enumerate(self.aggregate.arguments)
                },
            }
        )

    def tuples(self, order: str) -> dict[int, Tuple]:
        """By id; numbered by arrival, or in the order that decides between tuples of one time."""
        rows = self.arrived
        if order == "rank" and not self.numbered:
            rows = sorted(rows, key=lambda r: (r.tie is not None, r.tie or 0, r.id))
        return {r.id: Tuple(r.time, number, r.key, r) for number, r in enumerate(rows, 1)}

    def answer(self, rows: Sequence[Row]) -> Any:
        """The aggregate over some tuples in their order."""
        table = self.table(rows)
        arguments = [table[f"x{i}"].combine_chunks() for i in range(len(self.aggregate.arguments))]
        return whole(self.aggregate, arguments, np.arange(len(rows)), list(range(len(rows))))

    def ranked(self, rows: Sequence[Row]) -> list[Row]:
        """Rows in the order of time and what decides between those of one time."""
        place = {number: t.row for number, t in self.tuples("rank").items()}
        return sorted(rows, key=lambda r: (r.time, place[r.id]))

    def batch(self, rows: list[Row]) -> pa.Table:
        """What comes to the operator."""
        table = self.table(rows)
        if not self.numbered:
            return table
        place = {row.id: number for number, row in enumerate(self.arrived)}
        numbers = pa.array([place[row.id] for row in rows], pa.int64())
        return table.append_column(ARRIVAL, numbers).sort_by([("g", "descending"), ("id", "descending")])

    def run(self, make: Callable[[Blobs], Operator], keys: Sequence[str]) -> list[pa.Table]:
        """All answers of the operators of all buckets."""
        stores = [MemoryBlobs() for _ in range(self.buckets if keys else 1)]
        operators = [make(store) for store in stores]
        found: list[pa.Table] = []
        newest = -(10**9)
        for start, stop in zip([0, *self.cuts], [*self.cuts, len(self.arrived)], strict=True):
            batch = self.arrived[start:stop]
            if batch:
                newest = max(newest, *(r.time for r in batch))
                for operator, part in zip(operators, scatter(self.batch(batch), keys, len(stores)), strict=True):
                    assert operator.process(part) == 0
            for operator in operators:
                found += operator.punctuate(Punctuation(newest - SLACK))
            if self.restarts:
                operators = [make(store) for store in stores]
        for operator in operators:
            found += operator.punctuate(Punctuation(0, final=True))
            assert not list(operator.punctuate(Punctuation(0, final=True)))
        return found


@st.composite
def streams(draw: st.DrawFn, cls: type[Aggregate], most: int = 25) -> Stream:
    kinds = draw(st.sampled_from(bindings(cls)))
    row = st.tuples(
        st.integers(-20, 30),
        st.none() | st.integers(0, 1),
        st.sampled_from(["a", "b", None]),
        st.integers(0, 2),
        st.sampled_from([True, True, False, None]),
        st.tuples(*argument_values(cls, kinds)),
        st.integers(0, SLACK),
    )
    drawn = draw(st.lists(row, min_size=1, max_size=most))
    ids = draw(st.permutations(range(len(drawn))))
    # Any order within the slack: sorted by time plus a delay of at most the slack.
    drawn.sort(key=lambda r: r[0] + r[-1])
    arrived = [Row(r[0], r[1], i, *r[2:6]) for i, r in zip(ids, drawn, strict=True)]
    cuts = sorted(draw(st.lists(st.integers(0, len(drawn)), max_size=4)))
    return Stream(cls(kinds), arrived, cuts, draw(st.booleans()), draw(st.integers(1, 7)), draw(st.booleans()))


def named(name: str, *types: pa.DataType) -> Aggregate:
    cls = find(name)
    assert cls is not None
    return cls(types)


def over(
    stream: Stream, window: OverRange | OverRows, other: OverRange | OverRows, partitioned: bool
) -> OverAggregateJob:
    arguments = tuple(f"x{i}" for i in range(len(stream.aggregate.arguments)))
    calls = (
        OverCall(Call(stream.aggregate, arguments, names=("answer", "again")), window),
        OverCall(Call(stream.aggregate, arguments, "wanted", ("filtered",)), window),
        OverCall(Call(named("count_star"), names=("count",)), other),
    )
    return OverAggregateJob((("k", pa.string()),) if partitioned else (), calls, ("id", TIME))


@st.composite
def windows(draw: st.DrawFn) -> tuple[OverRange | OverRows, OverRange | OverRows]:
    """Two frames with the same slide."""
    ranges, rows = st.builds(OverRange, PRECEDING), st.builds(OverRows, PRECEDING)
    match draw(st.sampled_from(["none", "range", "rows", "row"])):
        case "none":
            return draw(st.tuples(ranges | rows, ranges | rows))
        case "range":
            slide, origin = draw(st.integers(1, 12)), draw(st.integers(-5, 5))
            return OverRange(draw(PRECEDING), slide, origin), OverRange(draw(PRECEDING), slide, origin)
        case "rows":
            slide = draw(st.integers(1, 4))
            return OverRows(draw(PRECEDING), slide), OverRows(draw(PRECEDING), slide)
    slide = draw(st.integers(1, 4))
    return OverRows(draw(PRECEDING), slide, "row"), OverRows(draw(PRECEDING), slide, "row")


@every_aggregate
@few
@given(data=st.data(), frames=windows(), partitioned=st.booleans())
def test_equals_the_oracle(
    cls: type[Aggregate], data: st.DataObject, frames: tuple[OverRange | OverRows, ...], partitioned: bool
) -> None:
    stream = data.draw(streams(cls))
    window, other = frames
    if getattr(window, "order", "rank") == "row":
        stream.numbered = False  # the host gives them in their order
    work = over(stream, window, other, partitioned)
    found = [row for t in stream.run(lambda b: OverAggregate(work, b), work.partition_names) for row in t.to_pylist()]
    assert len(found) == len({row["id"] for row in found}), "a tuple answered twice"
    by_id = stream.tuples(getattr(window, "order", "rank"))
    if not partitioned:
        by_id = {i: Tuple(t.time, t.row, None, t.value) for i, t in by_id.items()}
    tuples = list(by_id.values())
    answering = window.windows(tuples)
    assert {row["id"] for row in found} == {i for i, t in by_id.items() if t.row in answering}
    for row in found:
        current = by_id[row["id"]]
        extent = ordered(window.extent(current.row, tuples), getattr(window, "order", "rank"))
        rows: list[Any] = [t.value for t in extent]
        assert row[TIME] == current.time
        assert same(row["answer"], stream.answer(rows))
        assert same(row["again"], row["answer"], slack=0)
        assert same(row["filtered"], stream.answer([r for r in rows if r.wanted]))
        assert row["count"] == len(other.extent(current.row, tuples))


COUNT = type(named("count_star"))


@some
@given(stream=streams(COUNT), frames=windows(), pause=st.integers(-20, 30))
def test_a_stream_goes_on_after_its_end(stream: Stream, frames: tuple[OverRange | OverRows, ...], pause: int) -> None:
    window, other = frames
    stream.numbered = False
    work = over(stream, window, other, True)
    blobs = MemoryBlobs()
    rows = sorted(stream.arrived, key=lambda r: r.time)
    found: list[dict[str, Any]] = []
    for part in ([r for r in rows if r.time < pause], [r for r in rows if r.time >= pause]):
        operator = OverAggregate(work, blobs)
        if part:
            assert operator.process(stream.table(part)) == 0
        for table in operator.punctuate(Punctuation(0, final=True)):
            found += table.to_pylist()
    assert len(found) == len({row["id"] for row in found})
    stream.arrived = rows
    by_id = stream.tuples(getattr(window, "order", "rank"))
    tuples = list(by_id.values())
    answered = {by_id[row["id"]].row for row in found}
    # A slide that the end cuts into two answers once more.
    assert window.windows(tuples) <= answered if isinstance(window, OverRange) else window.windows(tuples) == answered
    for row in found:
        current = by_id[row["id"]]
        assert row["answer"] == len(window.extent(current.row, tuples))
        assert row["count"] == len(other.extent(current.row, tuples))


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@drawn(25)
@given(data=st.data(), preceding=PRECEDING, batches=st.integers(1, 5))
@pytest.mark.parametrize("name", ["sum", "max", "count", "median"])
def test_equals_duckdb(
    duck: duckdb.DuckDBPyConnection, name: str, data: st.DataObject, preceding: int | None, batches: int
) -> None:
    row = st.tuples(st.integers(-20, 20), st.sampled_from("ab"), st.none() | st.integers(-9, 9))
    rows = sorted(data.draw(st.lists(row, min_size=1, max_size=30)), key=lambda r: r[0])
    times, keys, values = zip(*rows, strict=True)
    table = pa.table({"id": range(len(rows)), "k": keys, "v": pa.array(values, pa.int64()), TIME: times})
    call = Call(named(name, pa.int64()), ("v",))
    calls = (
        OverCall(Call(call.aggregate, ("v",), names=("by_range",)), OverRange(preceding)),
        OverCall(Call(call.aggregate, ("v",), names=("by_rows",)), OverRows(preceding)),
    )
    operator = OverAggregate(OverAggregateJob((("k", pa.string()),), calls, ("id",)), MemoryBlobs())
    found: list[pa.Table] = []
    for i in range(batches):
        begin, end = i * len(rows) // batches, (i + 1) * len(rows) // batches
        part = table.slice(begin, end - begin)
        operator.process(part)
        if part.num_rows:
            found += operator.punctuate(Punctuation(part[TIME][-1].as_py()))
    found += operator.punctuate(Punctuation(0, final=True))
    duck.register("tuples", table)
    reach = "UNBOUNDED" if preceding is None else preceding
    sql = f"""SELECT id, {name}(v) OVER (PARTITION BY k ORDER BY {TIME} RANGE {reach} PRECEDING),
                     {name}(v) OVER (PARTITION BY k ORDER BY {TIME}, id ROWS {reach} PRECEDING) FROM tuples"""
    theirs = {i: answers for i, *answers in duck.execute(sql).fetchall()}
    assert {r["id"]: [r["by_range"], r["by_rows"]] for t in found for r in t.to_pylist()} == theirs


def work_of(window: OverRange | OverRows, *more: OverRange | OverRows) -> OverAggregateJob:
    total = named("sum", pa.int64())
    calls = (OverCall(Call(total, ("v",), names=(f"r{i}",)), w) for i, w in enumerate((window, *more)))
    return OverAggregateJob((("k", pa.string()),), tuple(calls), ("id",))


def some_rows(times: Any, key: str = "a") -> pa.Table:
    times = np.asarray(times, dtype=np.int64)
    return pa.table({"id": times, "k": [key] * len(times), "v": np.ones(len(times), dtype=np.int64), TIME: times})


def kept(blobs: MemoryBlobs) -> int:
    table = TupleLog(blobs, "log/").table
    return 0 if table is None else int(table.num_rows)


@pytest.mark.parametrize("window", [OverRange(50), OverRows(50), OverRange(50, slide=10), OverRows(50, order="row")])
def test_tuples_are_kept_only_as_far_as_frames_reach(window: OverRange | OverRows) -> None:
    blobs = MemoryBlobs()
    operator = OverAggregate(work_of(window), blobs)
    for step in range(100):
        operator.process(some_rows(range(step * 10, step * 10 + 10)))
        assert list(operator.punctuate(Punctuation(step * 10 + 10)))
        assert kept(blobs) <= 60
        assert sum(len(blob) for blob in blobs.blobs.values()) < 60_000
    list(operator.punctuate(Punctuation(10_000)))
    assert kept(blobs) == (50 if isinstance(window, OverRows) else 0)


@pytest.mark.parametrize("window", [OverRange(None), OverRows(None), OverRange(None, slide=10), OverRows(None, 3)])
def test_unbounded_frames_keep_no_tuples(window: OverRange | OverRows) -> None:
    blobs = MemoryBlobs()
    for step in range(20):
        operator = OverAggregate(work_of(window), blobs)
        operator.process(some_rows(range(step * 10, step * 10 + 10)))
        answers = [row for t in operator.punctuate(Punctuation(step * 10 + 10)) for row in t.to_pylist()]
        assert answers
        assert all(row["r0"] == row["id"] + 1 for row in answers)
        assert kept(blobs) == 0
        assert not [name for name in blobs.blobs if name.startswith("log/")]


def test_late_tuples_are_counted_and_dropped() -> None:
    operator = OverAggregate(work_of(OverRange(10)), MemoryBlobs())
    assert [operator.promise] == [None]
    assert operator.process(some_rows([3, 7, 12])) == 0
    assert [t["id"].to_pylist() for t in operator.punctuate(Punctuation(10))] == [[3, 7]]
    assert operator.low_watermark == operator.promise == 10
    assert operator.process(some_rows([9, 10, 2])) == 2
    missing = some_rows([11]).set_column(3, TIME, pa.array([None], pa.int64()))
    assert operator.process(missing) == 0
    assert not list(operator.punctuate(Punctuation(30, group=(("k", "a"),))))
    (answers,) = operator.punctuate(Punctuation(30))
    assert answers.to_pydict() == {"id": [10, 12], "r0": [3, 4]}


def test_nothing_is_late_in_the_order_of_arrival() -> None:
    operator = OverAggregate(work_of(OverRows(1, order="row")), MemoryBlobs())
    for times in ([7, 3], [5, 1]):
        assert operator.process(some_rows(times)) == 0
        assert [t["id"].to_pylist() for t in operator.punctuate(Punctuation(6))] == [times]
    assert operator.promise == 6


def test_the_promise_with_a_slide_is_the_start_of_its_slot() -> None:
    operator = OverAggregate(work_of(OverRange(10, slide=10, origin=3)), MemoryBlobs())
    list(operator.punctuate(Punctuation(22)))
    assert operator.promise == 13


def test_ties_follow_the_values_with_null_first_if_nobody_knows_their_arrival() -> None:
    table = pa.table(
        {
            "id": pa.array([None, 1, None, 0, 1], pa.int64()),
            "v": pa.array([7, None, 6, 9, -1], pa.int64()),
            TIME: pa.array([5] * 5, pa.int64()),
        }
    )
    calls = (OverCall(Call(named("count_star"), names=("rank",)), OverRows(None)),)
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]):
        operator = OverAggregate(OverAggregateJob((), calls, ("id", "v")), MemoryBlobs())
        operator.process(table.take(order))
        (answers,) = operator.punctuate(Punctuation(6))
        ranked = zip(*(answers.sort_by("rank")[name].to_pylist() for name in ("id", "v")), strict=True)
        assert list(ranked) == [(None, 6), (None, 7), (0, 9), (1, None), (1, -1)]


def test_frames_that_do_not_go_together_are_refused() -> None:
    for other in (OverRange(1, slide=2), OverRows(1, slide=2), OverRows(1, order="row")):
        with pytest.raises(SettingError, match="same slide"):
            OverAggregate(work_of(OverRange(1), other), MemoryBlobs())


def test_a_log_that_is_opened_again_is_the_log_as_it_was() -> None:
    blobs = MemoryBlobs()
    log = TupleLog(blobs, "log/")
    for step in range(4):
        log.append(pa.table({"x": np.arange(step * 100, step * 100 + 100)}))
    expected = np.arange(400)
    for keep in (expected % 10 != 0, expected >= 130, expected % 3 == 0, expected == 390, expected < 0):
        assert log.table is not None
        log.keep(keep[log.table["x"].to_numpy()])
        expected_now = log.table["x"].to_pylist()
        again = TupleLog(blobs, "log/")
        assert (again.table["x"].to_pylist() if again.table is not None else []) == expected_now
        log = again if again.table is not None else log
    assert not blobs.blobs


@pytest.mark.parametrize("name", ["sum", "max"])
def test_long_frames_cost_little_more_than_short_ones(name: str) -> None:
    table = some_rows(np.arange(100_000)).set_column(2, "v", pa.array(np.arange(100_000) * 7919 % 1009))

    def seconds(preceding: int) -> float:
        call = Call(named(name, pa.int64()), ("v",), names=("r",))
        operator = OverAggregate(OverAggregateJob((), (OverCall(call, OverRows(preceding)),), ("id",)), MemoryBlobs())
        operator.process(table)
        begin = time.process_time()
        assert sum(t.num_rows for t in operator.punctuate(Punctuation(10**6))) == 100_000
        return time.process_time() - begin

    seconds(10)
    assert min(seconds(10_000) for _ in range(3)) < 8 * min(seconds(10) for _ in range(3)) + 0.05
