"""ORIGIN FIRST: the windows of all buckets start at the oldest time stamp of the whole stream."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.panes.from_first import FromFirst
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.cumulate import Cumulate
from millstream.windows.emit import Emit, Pace
from millstream.windows.landmark import Landmark
from millstream.windows.sliding import Sliding
from tests.drawing import drawn
from tests.operators.harness import (
    KEYS,
    NUMBERS,
    Case,
    assert_partials,
    assert_same,
    finals,
    numbers,
    read,
    run,
    schedules,
    table,
    whole,
)

WINDOWS = st.one_of(
    st.builds(Sliding, st.integers(1, 17), st.integers(1, 17)),
    st.builds(lambda step, steps: Cumulate(step, step * steps), *[st.integers(1, 5)] * 2),
    st.builds(Landmark, st.integers(3, 17)),
)


@drawn(100)
@given(data=st.data(), window=WINDOWS, emits=st.booleans())
def test_equals_the_oracle(data: st.DataObject, window: Sliding | Cumulate | Landmark, emits: bool) -> None:
    rows = data.draw(numbers())
    emit = Emit(Pace.EVENT, 3) if emits else None
    job = WindowAggregateJob(KEYS, NUMBERS, window, emit=emit, from_first=True)
    moved = replace(job, window=replace(window, origin=min(rows[TIME].to_pylist())))
    out = run(Case(job, rows, FromFirst, whole), data.draw(schedules(rows[TIME].to_pylist())))
    assert out.late == 0
    assert_same(out.of("final"), finals(moved, rows))
    if emits:
        assert_partials(out, moved, rows)
    assert not [name for store in out.stores for name in store.blobs if name.startswith("held/")]


def test_tuples_wait_until_the_origin_is_certain_and_older_ones_are_late() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS[:1], Sliding(10, 10), from_first=True)
    store = MemoryBlobs()
    operator = FromFirst(job, store)
    assert operator.process(table([(7, "a", 1, True), (9, "a", 1, True)])) == 0
    assert list(operator.punctuate(Punctuation(6, oldest=7))) == []
    assert operator.promise is None
    assert list(operator.end_batch()) == []
    operator = FromFirst(job, store)
    assert operator.process(table([(6, "a", 1, True), (25, "a", 1, True)])) == 0
    answers = [a for t in operator.punctuate(Punctuation(20, oldest=6)) for a in read(job, t)]
    assert answers == [((6, 16, "final", "a"), (3,))]
    assert operator.promise == 20
    assert list(operator.end_batch()) == []
    operator = FromFirst(job, store)
    assert operator.process(table([(1, "a", 1, True), (5, "a", 1, True), (24, "a", 1, True)])) == 2
    answers = [a for t in operator.punctuate(Punctuation(25, final=True, oldest=1)) for a in read(job, t)]
    assert answers == [((16, 26, "final", "a"), (2,))]
