"""User-defined aggregates with OVER equal what is written by hand, in each of the nine cells.

The cells are base, window and algebraic aggregates, answering per tuple, per slide and per tumble; in any order within
the slack, any cut into batches, with restarts, for any number of buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import SettingError
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.over.calls import over_operator
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.over.peers import with_peers
from millstream.operators.over.stepped_over import SteppedOver
from millstream.operators.window_aggregate_job import TIME, Call
from millstream.progress.punctuation import Punctuation
from millstream.udas.kernels import kernel as kernels
from millstream.udas.sql_aggregate import SqlAggregate, Versions
from millstream.windows.over_range import OverRange
from millstream.windows.over_rows import OverRows
from millstream.windows.tuples import Tuple, ordered
from tests.aggregates.test_laws import same
from tests.operators.by_hand import ALGEBRAIC, BASE, MEAN, WINDOW, WINDOW_MEAN, Known, declared, user_streams
from tests.operators.over.test_over import PRECEDING, kept, some, some_rows
from tests.udas.making import compiled
from tests.udas.paper import ALARM

pytestmark = pytest.mark.slow

Window = OverRange | OverRows
KEYS = (("k", pa.string()),)


@st.composite
def per_tuple(draw: st.DrawFn) -> Window:
    return draw(
        st.builds(OverRange, PRECEDING)
        | st.builds(OverRows, PRECEDING)
        | st.builds(OverRows, PRECEDING, order=st.just("row"))
    )


@st.composite
def per_slide(draw: st.DrawFn) -> Window:
    """A slide that is no longer than the frame, or one of an unbounded frame."""
    slide = draw(st.integers(1, 6))
    reach = draw(st.none() | st.integers(slide, 12))
    if draw(st.booleans()):
        return OverRange(reach, slide, draw(st.integers(-5, 5)))
    return OverRows(reach, slide, draw(st.sampled_from(["rank", "row"])))


@st.composite
def per_tumble(draw: st.DrawFn) -> Window:
    """A slide as long as the frame, or one that skips tuples."""
    reach = draw(st.integers(0, 6))
    slide = reach + draw(st.integers(1, 7))
    return OverRange(reach, slide) if draw(st.booleans()) else OverRows(reach, slide)


SHAPES = {"tuple": per_tuple(), "slide": per_slide(), "tumble": per_tumble()}
KINDS = {"base": BASE, "window": WINDOW, "algebraic": ALGEBRAIC}


def over(aggregate: SqlAggregate, window: Window, partitioned: bool = True) -> OverAggregateJob:
    calls = (
        OverCall(Call(aggregate, ("x0",), names=("answer", "again")), window),
        OverCall(Call(aggregate, ("x0",), "wanted", ("filtered",)), window),
    )
    return OverAggregateJob(KEYS if partitioned else (), calls, ("id", TIME))


def rows_of(answer: list[dict[str, Any]]) -> list[list[Any]]:
    return [list(row.values()) for row in answer]


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    worth = kernels.WORTH
    yield
    kernels.WORTH = worth


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data(), partitioned=st.booleans())
def test_each_cell_equals_brute_force(kind: str, shape: str, data: st.DataObject, partitioned: bool) -> None:
    known: Known = data.draw(st.sampled_from(KINDS[kind]))
    window: Window = data.draw(SHAPES[shape])
    aggregate = known.aggregate
    stream = data.draw(user_streams(aggregate))
    work = over(aggregate, window, partitioned)
    operator = over_operator(work) if known.fast else SteppedOver
    kernels.WORTH = data.draw(st.sampled_from([-1, 10**9]))  # compiled, or as they are
    found = [row for t in stream.run(lambda b: operator(work, b), work.partition_names) for row in t.to_pylist()]
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
        if not with_peers(work.calls[0]):
            # Tuples come one by one: of those of one time only the earlier ones are there.
            extent = extent[: extent.index(current) + 1]
        rows: list[Any] = [t.value for t in extent]
        mine: Any = current.value
        assert row[TIME] == current.time
        assert same(rows_of(row["answer"]), [list(r) for r in known.hand([r.arguments for r in rows])])
        assert row["again"] == row["answer"]
        chosen = [r.arguments for r in rows if r.wanted] if mine.wanted else []
        assert same(rows_of(row["filtered"]), [list(r) for r in known.hand(chosen)] if chosen else [])


@some
@given(data=st.data(), window=per_tuple(), pause=st.integers(-20, 30))
@pytest.mark.parametrize("known", [BASE[1], WINDOW[0], WINDOW[5], BASE[-1], WINDOW[-1]], ids=lambda known: known.name)
def test_a_stream_goes_on_after_its_end(known: Known, data: st.DataObject, window: Window, pause: int) -> None:
    aggregate = known.aggregate
    stream = data.draw(user_streams(aggregate))
    rows = sorted(stream.arrived, key=lambda r: r.time)
    work, found = over(aggregate, window), []
    kind = over_operator(work) if known.fast else SteppedOver
    blobs = MemoryBlobs()
    for part in ([r for r in rows if r.time < pause], [r for r in rows if r.time >= pause]):
        operator = kind(work, blobs)
        if part:
            assert operator.process(stream.table(part)) == 0
        found += [row for t in operator.punctuate(Punctuation(0, final=True)) for row in t.to_pylist()]
    at_once = SteppedOver(work, MemoryBlobs())
    at_once.process(stream.table(rows))
    expected = [row for t in at_once.punctuate(Punctuation(0, final=True)) for row in t.to_pylist()]
    assert sorted(found, key=lambda r: r["id"]) == sorted(expected, key=lambda r: r["id"])


ENDING = """
CREATE AGGREGATE ending (x BIGINT) : BIGINT {
  TABLE state (n BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (1); }
  ITERATE: { UPDATE state SET n = n + 1; }
  TERMINATE: { INSERT INTO RETURN SELECT n FROM state; }
}"""

LEAVING = """
CREATE WINDOW AGGREGATE leaving (x BIGINT) : BIGINT {
  TABLE state (n BIGINT) AS VALUES (0);
  INITIALIZE: ITERATE: { UPDATE state SET n = n + 1; INSERT INTO RETURN SELECT n FROM state; }
  EXPIRE: { UPDATE state SET n = n - 1; }
}"""

HOLDING = """
CREATE WINDOW AGGREGATE holding (x BIGINT) : BIGINT {
  INITIALIZE: ITERATE: { INSERT INTO RETURN SELECT count(*) FROM inwindow; }
  EXPIRE: { }
}"""

NAMING = """
CREATE AGGREGATE naming (x BIGINT) : BIGINT {
  TABLE state (n BIGINT) AS VALUES (0);
  INITIALIZE: ITERATE: { UPDATE state SET n = n + 1; INSERT INTO RETURN SELECT 10 * x + n FROM state; }
}"""


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("base", "window", "reach"),
    [
        *product([ENDING], [None, LEAVING], [0, 5, None]),
        *product([None], [LEAVING], [0, 5, None]),
        *product([None], [HOLDING], [0, 5]),  # an unbounded window would hold everything
    ],
)
def test_tuples_of_one_time_are_in_each_others_frames(
    base: str | None, window: str | None, reach: int | None, fast: bool
) -> None:
    """As `count(*)` counts them, over frames by time; over frames of rows each is the last of its own."""
    aggregate = Known("", list, base, window, fast).aggregate
    values = {"k": ["a", "a", "b", "a"], "v": pa.array([7, 8, 9, 9], pa.int64())}
    rows = pa.table({**values, "id": range(4), TIME: [3] * 4})
    answers = []
    for frame in (OverRange(reach), OverRows(None if reach is None else 9)):
        work = single(aggregate, frame)
        operator = over_operator(work)(work, MemoryBlobs()) if fast else SteppedOver(work, MemoryBlobs())
        operator.process(rows)
        found = [row for t in operator.punctuate(Punctuation(4)) for row in t.to_pylist()]
        answers.append([n for row in sorted(found, key=lambda r: r["id"]) for n in row["r"][0].values()])
    assert answers == [[3, 3, 1, 3], [1, 2, 1, 3]]


@pytest.mark.parametrize("fast", [True, False])
def test_an_answer_that_names_the_tuple_is_its_own(fast: bool) -> None:
    work = single(Known("", list, NAMING, None, fast).aggregate, OverRange(None))
    operator = over_operator(work)(work, MemoryBlobs()) if fast else SteppedOver(work, MemoryBlobs())
    operator.process(pa.table({"k": ["a"] * 3, "v": pa.array([1, 2, 3], pa.int64()), "id": range(3), TIME: [3, 3, 3]}))
    (found,) = operator.punctuate(Punctuation(4))
    assert [[*row[0].values()] for row in found["r"].to_pylist()] == [[11], [22], [33]]


BASE_MEAN = SqlAggregate(Versions(compiled(MEAN).body, None))
DELTA_MEAN = SqlAggregate(Versions(None, compiled(WINDOW_MEAN).body))


def single(aggregate: SqlAggregate, window: Window) -> OverAggregateJob:
    return OverAggregateJob(KEYS, (OverCall(Call(aggregate, ("v",), names=("r",)), window),), ("id",))


def numbered(times: Any) -> pa.Table:
    table = some_rows(times)
    return table.set_column(2, "v", table["v"].cast(pa.float64()))


@pytest.mark.parametrize("window", [OverRange(50), OverRows(50), OverRange(50, slide=10), OverRows(50, order="row")])
def test_only_what_runs_anew_keeps_tuples(window: Window) -> None:
    again, delta = MemoryBlobs(), MemoryBlobs()
    for step in range(20):
        for aggregate, blobs in ((BASE_MEAN, again), (DELTA_MEAN, delta)):
            operator = SteppedOver(single(aggregate, window), blobs)
            operator.process(numbered(range(step * 10, step * 10 + 10)))
            assert list(operator.punctuate(Punctuation(step * 10 + 10)))
        assert kept(again) <= 60
        assert kept(delta) == 0
    list(SteppedOver(single(BASE_MEAN, window), again).punctuate(Punctuation(10_000)))
    assert kept(again) == (50 if isinstance(window, OverRows) else 0)


def test_frames_that_do_not_go_together_are_refused() -> None:
    calls = (*single(BASE_MEAN, OverRange(3)).calls, *single(BASE_MEAN, OverRows(3, order="row")).calls)
    with pytest.raises(SettingError, match="by arrival"):
        SteppedOver(OverAggregateJob(KEYS, calls, ("id",)), MemoryBlobs())
    calls = (*single(DELTA_MEAN, OverRange(3, active=True)).calls, *single(BASE_MEAN, OverRange(3)).calls)
    with pytest.raises(SettingError, match="alone"):
        SteppedOver(OverAggregateJob(KEYS, calls, ("id",)), MemoryBlobs())


# -- ACTIVE EXPIRATION -------------------------------------------------------------------------------------

LIVE = """
CREATE WINDOW AGGREGATE live (x BIGINT) : (n BIGINT, x BIGINT, leaves BOOLEAN) {
  TABLE state (n BIGINT) AS VALUES (0);
  INITIALIZE: ITERATE: { UPDATE state SET n = n + 1; INSERT INTO RETURN SELECT n, live.x, false FROM state; }
  EXPIRE: { UPDATE state SET n = n - 1; INSERT INTO RETURN SELECT n, live.x, true FROM state WHERE n < 3; }
}"""


@some
@given(data=st.data(), reach=st.integers(0, 12), partitioned=st.booleans(), filtered=st.booleans())
def test_tuples_leave_at_their_moment(data: st.DataObject, reach: int, partitioned: bool, filtered: bool) -> None:
    aggregate = SqlAggregate(declared(None, LIVE))
    stream = data.draw(user_streams(aggregate))
    call = Call(aggregate, ("x0",), "wanted" if filtered else None, ("r",))
    window = OverRange(reach, active=True, stamp=TIME)
    work = OverAggregateJob(KEYS if partitioned else (), (OverCall(call, window),), ("id", TIME, "k"))
    tables = stream.run(lambda b: SteppedOver(work, b), work.partition_names)
    found = [row for t in tables for row in t.to_pylist()]
    expected: list[tuple[Any, ...]] = []
    ranked = sorted(stream.tuples("rank").values(), key=lambda t: (t.time, t.row))
    for i, t in enumerate(ranked):
        row: Any = t.value
        if filtered and not row.wanted:
            expected.append((row.time, row.id, row.key, []))
            continue
        peers: Any = [
            (j, o.time)
            for j, o in enumerate(ranked)
            if (not partitioned or o.key == t.key) and (not filtered or getattr(o.value, "wanted"))  # noqa: B009
        ]
        before = sum(j <= i and t.time - time <= reach for j, time in peers)
        expected.append((row.time, row.id, row.key, [[before, row.arguments[0], False]]))
        after = sum(j > i and time - t.time <= reach for j, time in peers)
        if after < 3:
            expected.append((row.time + reach + 1, row.id, row.key, [[after, row.arguments[0], True]]))
    answers = [(row[TIME], row["id"], row["k"], rows_of(row["r"])) for row in found]
    assert sorted(answers, key=repr) == sorted(expected, key=repr)
    if stream.buckets == 1 or not partitioned:
        moments = [(row[TIME], not (row["r"] and row["r"][0]["leaves"])) for row in found]
        assert moments == sorted(moments), "answers come in the order of time, and who leaves before who comes"


def readings(*rows: tuple[int, int, str]) -> pa.Table:
    """Readings of tags: second, id and type."""
    seconds, ids, types = zip(*rows, strict=True)
    micros = pa.array(np.array(seconds) * 1_000_000)
    stamps = micros.cast(pa.timestamp("us", "UTC"))
    return pa.table({"id": pa.array(ids, pa.int32()), "type": types, "ts": stamps, TIME: micros})


def test_the_alarm_of_the_paper() -> None:
    """An item that no authorized person accompanies, before or after, is reported when its five seconds are over."""
    aggregate = SqlAggregate(Versions(None, compiled(ALARM).body))
    call = Call(aggregate, ("id", "type", "ts"), names=("alarm",))
    window = OverRange(5_000_000, active=True, stamp="ts")
    work = OverAggregateJob((), (OverCall(call, window),), ("id", "ts"))
    blobs = MemoryBlobs()

    def alarms(punctuation: Punctuation, *rows: tuple[int, int, str]) -> list[tuple[Any, ...]]:
        operator = SteppedOver(work, blobs)
        if rows:
            assert operator.process(readings(*rows)) == 0
        found = [row for t in operator.punctuate(punctuation) for row in t.to_pylist() if row["alarm"]]
        assert all(rows_of(row["alarm"]) == [["larceny alarm"]] for row in found)
        return [(row["id"], row["ts"].timestamp()) for row in found]

    assert alarms(Punctuation(8_000_000), (0, 1, "item"), (3, 100, "ap"), (6, 2, "item"), (7, 3, "item")) == []
    # Item 1 has gone when the person came; the person is still there when items 2 and 3 come.
    assert alarms(Punctuation(12_000_000), (9, 4, "item"), (10, 5, "item"), (11, 6, "item")) == []
    # Nothing comes any more, but time goes on.
    assert alarms(Punctuation(14_000_000)) == []
    assert alarms(Punctuation(14_000_001)) == [(4, 14.000001)]
    assert alarms(Punctuation(15_500_000)) == [(5, 15.000001)]
    assert alarms(Punctuation(15_600_000), (16, 101, "ap")) == []
    assert alarms(Punctuation(40_000_000), (30, 7, "item")) == [(7, 35.000001)]
    assert alarms(Punctuation(0, final=True), (50, 8, "item")) == [(8, 55.000001)]
    assert kept(blobs) == 0
    assert SteppedOver(work, blobs).promise == 55_000_001
