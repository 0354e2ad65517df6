"""Landmark windows: everything so far, at the end of every slide to which a tuple of any group came."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import BUILT_IN
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.landmark import Landmark
from tests.drawing import drawn
from tests.operators.harness import KEYS, NUMBERS, Case, check, numbers, read, table, tuples_for

LANDMARK = st.builds(Landmark, st.integers(1, 17), st.integers(-3, 3))


@drawn(80)
@given(data=st.data(), window=LANDMARK)
def test_equals_the_oracle(data: st.DataObject, window: Landmark) -> None:
    keys = data.draw(st.sampled_from([KEYS, ()]))
    run = check(Case(WindowAggregateJob(keys, NUMBERS, window), data.draw(numbers())), data)
    for store in run.stores:
        assert len([n for n in store.blobs if n.startswith("pane")]) <= 1, "closed panes are joined"


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
@drawn(12)
@given(data=st.data())
def test_every_aggregate(cls: type[Aggregate], data: st.DataObject) -> None:
    calls, rows = data.draw(tuples_for(cls))
    check(Case(WindowAggregateJob(KEYS, calls, data.draw(st.builds(Landmark, st.integers(5, 17)))), rows), data)


def test_a_group_without_new_tuples_answers_where_others_have_some_and_nowhere_else() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS[:1], Landmark(10))
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    operator.process(partial_states(job, table([(5, "a", 1, True)])))
    operator.note_busy_places(pa.array([2, 2**50]))  # to other buckets
    assert operator.waits == 10
    answers = [a for t in operator.punctuate(Punctuation(20)) for a in read(job, t)]
    assert answers == [((None, 10, "final", "a"), (1,))]
    list(operator.end_batch())
    operator = PanedAggregate(job, store)
    assert operator.waits == 30
    operator.note_busy_places(pa.array([1]))  # late there
    answers = [a for t in operator.punctuate(Punctuation(41)) for a in read(job, t)]
    assert answers == [((None, 30, "final", "a"), (1,))]
    list(operator.end_batch())
    assert store.get("busy") is not None
    # The end closes the windows of tuples in other buckets as well.
    assert [t.num_rows for t in operator.punctuate(Punctuation(50, final=True))] == [1]
    list(operator.end_batch())
    assert operator.waits is None
    assert store.get("busy") is None


def test_state_is_one_total_and_the_open_panes() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Landmark(1))
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    for step in range(20):
        operator.process(partial_states(job, table([(step, str(step), 1, True), (step + 2, "a", 1, True)])))
        assert sum(t.num_rows for t in operator.punctuate(Punctuation(step))) == step + (step > 2)
        list(operator.end_batch())
        assert sum(n.startswith("pane") for n in store.blobs) <= 4
