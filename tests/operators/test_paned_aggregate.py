"""Paned window aggregates equal the oracle `extent()`, for any order within the slack, any cut, any bucket count."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import find
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.grouped import TIME, Call, Grouped
from millstream.operators.paned_aggregate import PanedAggregate
from millstream.operators.partials import partial_states
from millstream.progress.punctuation import Punctuation
from millstream.spark.packets import scatter
from millstream.windows.cumulate import Cumulate
from millstream.windows.panes import Paned
from millstream.windows.sliding import Sliding
from millstream.windows.tuples import Tuple

SLACK = 5
Answer = tuple[object, ...]


def aggregate(name: str, *types: pa.DataType) -> Aggregate:
    found = find(name)
    assert found is not None
    return found(list(types))


def work(window: Paned) -> Grouped:
    number = pa.int64()
    calls = (
        Call(aggregate("count_star")),
        Call(aggregate("count", number), ("v",), names=("__r1",)),
        Call(aggregate("sum", number), ("v",), names=("__r2",)),
        Call(aggregate("min", number), ("v",), names=("__r3",)),
        Call(aggregate("max", number), ("v",), names=("__r4",)),
        Call(aggregate("avg", number), ("v",), names=("__r5",)),
        Call(aggregate("sum", number), ("v",), "wanted", ("__r6",)),
    )
    return Grouped((("k", pa.string()),), calls, window)


rows_strategy = st.lists(
    st.tuples(
        st.integers(-40, 60),
        st.sampled_from(["a", "b", None]),
        st.one_of(st.none(), st.integers(-9, 9)),
        st.sampled_from([True, False, None]),
    ),
    min_size=1,
    max_size=40,
)


def oracle(window: Paned, rows: list[tuple[int, str | None, int | None, bool | None]]) -> dict[Answer, Answer]:
    tuples = [Tuple(time=r[0], row=i) for i, r in enumerate(rows)]
    answers: dict[Answer, Answer] = {}
    for wid in window.windows(tuples):
        groups: dict[str | None, list[tuple[int | None, bool | None]]] = defaultdict(list)
        for t in window.extent(wid, tuples):
            groups[rows[t.row][1]].append(rows[t.row][2:])
        for key, values in groups.items():
            known = [v for v, _ in values if v is not None]
            wanted = [v for v, w in values if v is not None and w]
            answers[(*window.bounds(wid), key)] = (
                len(known),
                sum(known) if known else None,
                min(known, default=None),
                max(known, default=None),
                sum(known) / len(known) if known else None,
                sum(wanted) if wanted else None,
            )
    return answers


@settings(deadline=None, max_examples=150)
@given(
    rows=rows_strategy,
    window=st.one_of(
        st.builds(Sliding, st.integers(1, 17), st.integers(1, 17), st.integers(-3, 3)),
        st.builds(lambda step, steps, origin: Cumulate(step, step * steps, origin), *[st.integers(1, 5)] * 3),
    ),
    buckets=st.integers(1, 7),
    data=st.data(),
)
def test_equals_the_oracle(
    rows: list[tuple[int, str | None, int | None, bool | None]],
    window: Paned,
    buckets: int,
    data: st.DataObject,
) -> None:
    job = work(window)
    # Any order within the slack: sorted by time plus a delay of at most the slack.
    delays = data.draw(st.lists(st.integers(0, SLACK), min_size=len(rows), max_size=len(rows)))
    arrived = [r for _, r in sorted(zip(delays, rows, strict=True), key=lambda p: p[0] + p[1][0])]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    restarts = data.draw(st.booleans())
    stores = [MemoryBlobs() for _ in range(buckets)]
    operators = [PanedAggregate(job, store) for store in stores]
    found: list[tuple[Answer, Answer]] = []
    newest = -(10**9)
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        batch = arrived[start:stop]
        if batch:
            newest = max(newest, *(r[0] for r in batch))
            for bucket, part in enumerate(scatter(partial_states(job, _table(batch)), ["k"], buckets)):
                assert operators[bucket].process(part) == 0
        for operator in operators:
            found += _collect(operator, Punctuation(newest - SLACK))
        if restarts:
            operators = [PanedAggregate(job, store) for store in stores]
    for operator in operators:
        found += _collect(operator, Punctuation(0, final=True))
    assert len(found) == len({place for place, _ in found}), "a window was answered twice"
    expected = oracle(window, rows)
    assert dict(found).keys() == expected.keys()
    for place, values in found:
        for mine, theirs in zip(values, expected[place], strict=True):
            assert mine == theirs or math.isclose(mine, theirs), place  # type: ignore[arg-type]
    for store in stores:
        assert not [n for n in store.blobs if n.startswith("pane/")], "panes outlive their windows"


def test_late_tuples_are_counted_and_left_out() -> None:
    job = work(Sliding(10, 10))
    operator = PanedAggregate(job, MemoryBlobs())
    assert operator.process(partial_states(job, _table([(5, "a", 1, True), (25, "a", 1, True)]))) == 0
    assert [len(t) for t in operator.punctuate(Punctuation(20))] == [1]
    assert (
        operator.process(partial_states(job, _table([(6, "a", 1, True), (7, "b", 1, True), (21, "a", 1, True)]))) == 2
    )
    ((place, values),) = _collect(operator, Punctuation(0, final=True))
    assert place == (20, 30, "a")
    assert values[0] == 2


def test_keys_that_are_gone_are_forgotten() -> None:
    job = work(Sliding(1, 1))
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    for step in range(20):
        operator.process(partial_states(job, _table([(step, f"{step}-{i}", i, True) for i in range(1000)])))
        assert sum(t.num_rows for t in operator.punctuate(Punctuation(step + 1))) == 1000
    assert sum(len(b) for n, b in store.blobs.items() if n.startswith("keys/")) < 200_000


def _table(rows: list[tuple[int, str | None, int | None, bool | None]]) -> pa.Table:
    times, keys, values, wanted = zip(*rows, strict=True)
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "v": pa.array(values, pa.int64()),
            "wanted": pa.array(wanted, pa.bool_()),
            TIME: pa.array(np.array(times, dtype=np.int64)),
        }
    )


def _collect(operator: PanedAggregate, punctuation: Punctuation) -> list[tuple[Answer, Answer]]:
    found: list[tuple[Answer, Answer]] = []
    for table in operator.punctuate(punctuation):
        columns = [table[f"__r{i}"].to_pylist() for i in range(1, 7)]
        starts, ends = (table[n].cast(pa.int64()).to_pylist() for n in ("window_start", "window_end"))
        places = zip(starts, ends, table["k"].to_pylist(), strict=True)
        found += zip(places, zip(*columns, strict=True), strict=True)
    return found
