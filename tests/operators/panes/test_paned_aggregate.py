"""Paned window aggregates equal the oracle `extent()`, for any order within the slack, any cut, any bucket count."""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import BUILT_IN
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.panes import store as pane_store
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.emit import Emit, Pace
from millstream.windows.panes import Paned
from millstream.windows.session import Session
from millstream.windows.sliding import Sliding
from tests.drawing import drawn
from tests.operators.harness import (
    KEYS,
    NUMBERS,
    Case,
    Schedule,
    assert_same,
    check,
    finals,
    numbers,
    read,
    run,
    table,
    tuples_for,
)
from tests.windows.kinds import MOVING_OVER_PANES, ORIGINS

MOVING = st.one_of(st.builds(Sliding, st.integers(1, 17), st.integers(1, 17), ORIGINS), *MOVING_OVER_PANES.values())


@drawn(120)
@given(data=st.data(), window=MOVING)
def test_equals_the_oracle(data: st.DataObject, window: Paned) -> None:
    keys = data.draw(st.sampled_from([KEYS, ()]))
    out = check(Case(WindowAggregateJob(keys, NUMBERS, window), data.draw(numbers())), data)
    for store in out.stores:
        assert not [n for n in store.blobs if n.startswith("pane")], "panes outlive their windows"


@drawn(60)
@given(
    data=st.data(),
    window=MOVING,
    rows=numbers(key=st.integers(0, 30).map(str)),
    emit=st.none() | st.sampled_from([Emit(Pace.EVENT, 4), Emit(Pace.CHANGE), Emit(Pace.WALL, 1)]),
)
def test_keys_can_be_numbered_anew_at_any_time(
    data: st.DataObject, window: Paned, rows: pa.Table, emit: Emit | None
) -> None:
    with patch.object(pane_store, "COMPACT_FROM", 1):
        check(Case(WindowAggregateJob(KEYS, NUMBERS, window, emit=emit), rows), data)


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
@drawn(15)
@given(data=st.data())
def test_every_aggregate(cls: type[Aggregate], data: st.DataObject) -> None:
    calls, rows = data.draw(tuples_for(cls))
    check(Case(WindowAggregateJob(KEYS, calls, data.draw(MOVING)), rows), data)


def test_late_tuples_are_counted_and_left_out() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Sliding(10, 10))
    operator = PanedAggregate(job, MemoryBlobs())
    assert operator.process(partial_states(job, table([(5, "a", 1, True), (25, "a", 1, True)]))) == 0
    assert [len(t) for t in operator.punctuate(Punctuation(20))] == [1]
    assert operator.promise == 20
    late = table([(6, "a", 1, True), (7, "b", 1, True), (21, "a", 1, True)])
    assert operator.process(partial_states(job, late)) == 2
    (answers,) = operator.punctuate(Punctuation(25, final=True))
    assert read(job, answers) == [((20, 30, "final", "a"), (2, 2, 1, 1.0))]


def test_keys_that_are_gone_are_forgotten() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Sliding(1, 1))
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    for step in range(20):
        operator.process(partial_states(job, table([(step, f"{step}-{i}", i, True) for i in range(1000)])))
        assert sum(t.num_rows for t in operator.punctuate(Punctuation(step + 1))) == 1000
        assert list(operator.end_batch()) == []
    assert sum(len(b) for n, b in store.blobs.items() if n.startswith("keys/")) < 200_000


def test_overlapping_windows_go_on_after_keys_are_numbered_anew() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Sliding(10, 2))
    rows = table([*((0, str(i), i, True) for i in range(10)), (10, "z", 1, True), (17, "x", 2, True)])
    case = Case(job, rows)
    with patch.object(pane_store, "COMPACT_FROM", 1):
        out = run(case, Schedule(list(range(12)), [10, 12]))
    assert_same(out.of("final"), finals(job, rows))


def test_all_buckets_end_at_the_same_time() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Sliding(10, 5))
    promises = []
    for time in (3, 21):
        operator = PanedAggregate(job, MemoryBlobs())
        operator.process(partial_states(job, table([(time, "a", 1, True)])))
        list(operator.punctuate(Punctuation(21, final=True)))
        promises.append(operator.promise)
    assert promises == [30, 30]


def test_only_windows_of_panes_are_taken() -> None:
    with pytest.raises(TypeError, match="not made of panes"):
        PanedAggregate(WindowAggregateJob(KEYS, NUMBERS, Session(5)), MemoryBlobs())


def test_panes_that_are_settled_share_a_blob_and_go_with_the_last_of_them() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS[:1], Sliding(50, 1))
    store = MemoryBlobs()

    def batch(times: range, until: int) -> int:
        operator = PanedAggregate(job, store)
        operator.process(partial_states(job, table([(time, "a", 1, True) for time in times])))
        found = sum(t.num_rows for t in operator.punctuate(Punctuation(until)))
        list(operator.end_batch())
        return found

    def blobs() -> list[str]:
        return sorted(name for name in store.blobs if name.startswith("pane"))

    assert batch(range(100), 98) == 98
    assert blobs() == ["pane/98", "pane/99", "panes/49-97"]
    # Half of the shared blob is gone, and does not come back with the other half.
    assert batch(range(100, 120), 118) == 20
    assert blobs() == ["pane/118", "pane/119", "pane/98", "pane/99", "panes/100-117", "panes/49-97"]
    assert sorted(PanedAggregate(job, store)._store.panes) == list(range(69, 120))
    assert batch(range(300, 301), 300) == 49 + 2
    assert blobs() == ["pane/300"]
