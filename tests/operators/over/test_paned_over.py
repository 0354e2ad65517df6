"""ALGEBRAIC aggregates over rows with a slide equal what is written by hand, and keep panes in place of tuples."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.evaluation import evaluation
from millstream.operators.over.calls import over_operator
from millstream.operators.over.framed_over import FramedOver
from millstream.operators.over.kernel_over import KernelOver
from millstream.operators.over.over import OverAggregate
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.over.paned_over import PanedOver
from millstream.operators.over.stepped_over import SteppedOver
from millstream.operators.window_aggregate_job import TIME, Call
from millstream.progress.punctuation import Punctuation
from millstream.udas import sql_aggregate
from millstream.udas.choose_form import sql_aggregate as chosen_form
from millstream.udas.sql_aggregate import SqlAggregate
from millstream.windows.over_range import OverRange
from millstream.windows.over_rows import OverRows
from millstream.windows.tuples import Tuple, ordered
from tests.aggregates.test_laws import same
from tests.operators.by_hand import ALGEBRAIC, BASE, HIGHEST, TOP, TOTAL, WINDOW_TOTAL, Known, declared, user_streams
from tests.operators.over.test_over import Stream, kept, named, some
from tests.operators.over.test_stepped_over import KEYS, over, rows_of

pytestmark = pytest.mark.slow

ALL = """
CREATE ALGEBRAIC AGGREGATE everything (x BIGINT) : BIGINT {
  TABLE seen (v BIGINT);
  INITIALIZE: ITERATE: { INSERT INTO seen VALUES (x); }
  TERMINATE: { INSERT INTO RETURN SELECT v FROM seen; }
}"""

LATEST = """
CREATE ALGEBRAIC AGGREGATE latest (x BIGINT) : BIGINT {
  TABLE state (v BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (x); INSERT INTO RETURN VALUES (x); }
  ITERATE: { UPDATE state SET v = x WHERE x IS NOT NULL; INSERT INTO RETURN SELECT v FROM state; }
}"""


def latest(tuples: Any) -> list[tuple[Any]]:
    return [(next((v for (v,) in reversed(tuples) if v is not None), None),)]


# Of these the answers depend on the order of tuples, which panes keep.
IN_ORDER = [
    Known("everything", list, ALL),
    Known("latest", latest, LATEST),
    Known("latest, fast", latest, LATEST, fast=True),
]
EVERY = [*ALGEBRAIC, *IN_ORDER]


@st.composite
def windows(draw: st.DrawFn) -> OverRows:
    """Slides that divide the window and that do not, shorter than the window and longer."""
    pane = draw(st.integers(2, 4))
    length, slide = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    return OverRows(pane * length - 1, pane * slide, draw(st.sampled_from(["rank", "row"])))


def answers_of(stream: Stream, work: OverAggregateJob) -> list[dict[str, Any]]:
    tables = stream.run(lambda b: PanedOver(work, b), work.partition_names)
    return [row for t in tables for row in t.to_pylist()]


@pytest.mark.parametrize("known", EVERY, ids=lambda known: known.name)
@some
@given(data=st.data(), window=windows(), partitioned=st.booleans())
def test_equals_brute_force(known: Known, data: st.DataObject, window: OverRows, partitioned: bool) -> None:
    aggregate = known.aggregate
    stream = data.draw(user_streams(aggregate, most=60))
    work = over(aggregate, window, partitioned)
    assert over_operator(work) is PanedOver
    found = answers_of(stream, work)
    assert len(found) == len({row["id"] for row in found}), "a tuple answered twice"
    by_id = stream.tuples(window.order)
    if not partitioned:
        by_id = {i: Tuple(t.time, t.row, None, t.value) for i, t in by_id.items()}
    tuples = list(by_id.values())
    answering = window.windows(tuples)
    assert {row["id"] for row in found} == {i for i, t in by_id.items() if t.row in answering}
    for row in found:
        current = by_id[row["id"]]
        rows: list[Any] = [t.value for t in ordered(window.extent(current.row, tuples), window.order)]
        mine: Any = current.value
        assert row[TIME] == current.time
        assert same(rows_of(row["answer"]), [list(r) for r in known.hand([r.arguments for r in rows])])
        assert row["again"] == row["answer"]
        chosen = [r.arguments for r in rows if r.wanted] if mine.wanted else []
        assert same(rows_of(row["filtered"]), [list(r) for r in known.hand(chosen)] if chosen else [])


@some
@given(data=st.data(), frames=st.tuples(st.integers(1, 6), st.integers(1, 6)), slide=st.integers(1, 4))
def test_windows_of_several_lengths_go_together(data: st.DataObject, frames: tuple[int, int], slide: int) -> None:
    """One in panes of two tuples, the other in panes of three or six."""
    aggregate = IN_ORDER[0].aggregate
    stream = data.draw(user_streams(aggregate, most=60))
    shapes = (OverRows(2 * frames[0] - 1, 6 * slide), OverRows(3 * frames[1] - 1, 6 * slide))
    calls = [OverCall(Call(aggregate, ("x0",), names=(f"r{i}",)), shape) for i, shape in enumerate(shapes)]
    found = {row["id"]: row for row in answers_of(stream, OverAggregateJob(KEYS, tuple(calls), ("id",)))}
    for framed in calls:
        alone = answers_of(stream, OverAggregateJob(KEYS, (framed,), ("id",)))
        (name,) = framed.call.names
        assert {row["id"]: row[name] for row in alone} == {i: row[name] for i, row in found.items()}


@pytest.mark.parametrize("known", EVERY, ids=lambda known: known.name)
@some
@given(data=st.data(), window=windows(), pause=st.integers(-20, 30))
def test_a_stream_goes_on_after_its_end(known: Known, data: st.DataObject, window: OverRows, pause: int) -> None:
    aggregate = known.aggregate
    stream = data.draw(user_streams(aggregate, most=60))
    rows = sorted(stream.arrived, key=lambda r: r.time)
    work, blobs, found = over(aggregate, window), MemoryBlobs(), []
    for part in ([r for r in rows if r.time < pause], [r for r in rows if r.time >= pause]):
        operator = PanedOver(work, blobs)
        if part:
            assert operator.process(stream.table(part)) == 0
        found += [row for t in operator.punctuate(Punctuation(0, final=True)) for row in t.to_pylist()]
    at_once = SteppedOver(work, MemoryBlobs())
    at_once.process(stream.table(rows))
    expected = [row for t in at_once.punctuate(Punctuation(0, final=True)) for row in t.to_pylist()]
    assert sorted(found, key=lambda r: r["id"]) == sorted(expected, key=lambda r: r["id"])


def work_of(*pairs: tuple[Any, OverRange | OverRows]) -> OverAggregateJob:
    calls = (OverCall(Call(a, ("x",), names=(f"r{i}",)), window) for i, (a, window) in enumerate(pairs))
    return OverAggregateJob(KEYS, tuple(calls), ("id",))


@pytest.mark.parametrize("window", [OverRows(5, 4), OverRows(11, 3), OverRows(3, 6), OverRows(5, 15), OverRows(39, 2)])
def test_long_streams_in_many_batches(window: OverRows) -> None:
    """So that panes and stretches end in all ways with batches and within them, with restarts in between."""
    chance = np.random.default_rng(window.slide)
    work = work_of((IN_ORDER[0].aggregate, window))
    blobs, seen, found = MemoryBlobs(), dict[str, list[int]](), dict[int, list[Any]]()
    expected: dict[int, list[Any]] = {}
    start = 0
    while start < 1500:
        stop = start + int(chance.integers(1, 14))
        keys = chance.choice(["a", "b", "c", "d"], stop - start, p=[0.6, 0.2, 0.15, 0.05]).tolist()
        times = pa.array(range(start, stop), pa.int64())
        operator = PanedOver(work, blobs)
        operator.process(pa.table({"k": keys, "id": times, "x": times, TIME: times}))
        for table in operator.punctuate(Punctuation(stop)):
            found.update((row["id"], [value for (value,) in rows_of(row["r0"])]) for row in table.to_pylist())
        for number, key in enumerate(keys, start):
            mine = seen.setdefault(key, [])
            mine.append(number)
            if len(mine) % window.slide == 0:
                expected[number] = mine[-(window.preceding or 0) - 1 :]
        start = stop
    assert found == expected


# -- which operator ----------------------------------------------------------------------------------------


SUM, TOP_THREE = chosen_form(declared(TOTAL, None)), chosen_form(declared(TOP, None))


@pytest.mark.parametrize("window", [OverRows(3, 2), OverRows(5, 4), OverRows(3, 8, "row"), OverRows(3, 4)])
@pytest.mark.parametrize("aggregate", [SUM, TOP_THREE, chosen_form(declared(None, WINDOW_TOTAL))])
def test_slides_of_algebraic_aggregates_have_panes(aggregate: SqlAggregate, window: OverRows) -> None:
    assert over_operator(work_of((aggregate, window))) is PanedOver
    assert evaluation(aggregate, window) == "panes of rows"


@pytest.mark.parametrize(
    "window", [OverRows(3), OverRows(4, 2), OverRows(0, 5), OverRows(None, 4), OverRange(3), OverRange(3, 2)]
)
def test_what_has_no_panes_goes_tuple_by_tuple(window: OverRange | OverRows) -> None:
    assert over_operator(work_of((SUM, window))) is KernelOver
    assert over_operator(work_of((TOP_THREE, window))) is SteppedOver
    assert evaluation(SUM, window) == evaluation(TOP_THREE, window) == "tuple by tuple"


def test_all_calls_must_have_panes() -> None:
    window, base = OverRows(3, 2), BASE[0].aggregate
    assert base.algebraic is False
    assert evaluation(base, window) == "tuple by tuple"
    assert over_operator(work_of((base, window))) is not PanedOver
    assert over_operator(work_of((SUM, window), (base, window))) is not PanedOver
    assert over_operator(work_of((SUM, window), (SUM, OverRows(4, 2)))) is KernelOver
    assert over_operator(work_of((named("sum", pa.int64()), window))) is OverAggregate


# -- what is kept, and what it costs -----------------------------------------------------------------------

PARTITIONS = 20


def numbered(start: int, stop: int) -> pa.Table:
    """Tuples of each partition."""
    numbers = np.repeat(np.arange(start, stop), PARTITIONS)
    keys = np.tile(np.arange(PARTITIONS), stop - start)
    times = pa.array(numbers)
    return pa.table({"k": pa.array(keys).cast(pa.string()), "id": times, "x": pa.array(numbers % 97), TIME: times})


def sizes(kind: type[FramedOver], aggregate: SqlAggregate, window: OverRows, batches: int, batch: int) -> list[int]:
    """The bytes that are kept after each batch."""
    blobs, found = MemoryBlobs(), []
    operator = kind(work_of((aggregate, window)), blobs)
    for step in range(batches):
        operator.process(numbered(step * batch, (step + 1) * batch))
        list(operator.punctuate(Punctuation((step + 1) * batch)))
        if kind is PanedOver:
            assert kept(blobs) == 0
        found.append(sum(map(len, blobs.blobs.values())))
    return found


@pytest.mark.parametrize("text", [TOTAL, HIGHEST, TOP])
def test_what_is_kept_falls_with_the_slide(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream.operators.blobs.SMALL", 1 << 40)  # how well bytes compress is not the question
    aggregate = chosen_form(declared(text, None))
    tuples = max(sizes(KernelOver, chosen_form(declared(HIGHEST, None)), OverRows(3999, 40), 9, 1000))
    most = {s: sizes(PanedOver, aggregate, OverRows(3999, s), 16, 1000) for s in (40, 400, 4000)}
    # The keys, the open panes and the headers of blobs do not depend on the slide.
    rest = max(most[4000])
    assert rest < tuples / 100
    panes = {s: max(found) - rest for s, found in most.items()}
    assert 5 * panes[400] < panes[40] < tuples / 10
    for found in most.values():
        assert max(found[8:]) <= 1.1 * max(found[4:8]), "it grows with time"


@pytest.mark.parametrize("batch", [1, 7, 40, 400])
def test_merges_do_not_grow_with_the_panes_of_a_window(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether many answers come with one batch or few."""
    aggregate = SqlAggregate(declared(TOTAL, None))
    merges = 0
    both = sql_aggregate.SqlAggregate._both

    def counted(self: SqlAggregate, left: Any, right: Any) -> Any:
        nonlocal merges
        merges += bool(left and right)
        return both(self, left, right)

    monkeypatch.setattr(sql_aggregate.SqlAggregate, "_both", counted)
    counts = []
    for panes in (16, 64, 256):
        operator = PanedOver(
            OverAggregateJob((), work_of((aggregate, OverRows(2 * panes - 1, 2))).calls, ("id",)), MemoryBlobs()
        )
        merges = 0
        for start in range(0, 2048, batch):
            times = np.arange(start, min(start + batch, 2048))
            operator.process(pa.table({"id": times, "x": times, TIME: times}))
            list(operator.punctuate(Punctuation(start + batch)))
        counts.append(merges / 1024)
    assert counts[0] < 16
    # Four times as many panes, two levels more of the tree.
    assert all(more - less <= 5 for less, more in pairwise(counts)), counts
