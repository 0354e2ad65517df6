"""Session windows equal the oracle, with groups within a session, for any order, cut and bucket count."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import BUILT_IN
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.ordered.session_windows import SessionWindows
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.session import Session
from millstream.windows.sliding import Sliding
from tests.drawing import drawn
from tests.operators.harness import KEYS, NUMBERS, Case, check, numbers, read, table, tuples_for, whole

SESSION = st.builds(Session, st.integers(1, 12))
TWO_KEYS = (("k", pa.string()), ("k1", pa.string()))


@drawn(100)
@given(data=st.data(), window=SESSION, partition=st.integers(0, 2))
def test_equals_the_oracle(data: st.DataObject, window: Session, partition: int) -> None:
    job = WindowAggregateJob(TWO_KEYS, NUMBERS, window, partition)
    run = check(Case(job, data.draw(numbers(keys=2)), SessionWindows, whole, partition), data)
    for store in run.stores:
        assert not [n for n in store.blobs if n.startswith("fragments/")], "fragments outlive their sessions"


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
@drawn(12)
@given(data=st.data())
def test_every_aggregate(cls: type[Aggregate], data: st.DataObject) -> None:
    calls, rows = data.draw(tuples_for(cls))
    partition = data.draw(st.integers(0, 1))
    check(
        Case(WindowAggregateJob(KEYS, calls, data.draw(SESSION), partition), rows, SessionWindows, whole, partition),
        data,
    )


def test_at_the_gap_a_new_session_starts_and_late_tuples_do_not_count() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS[:1], Session(10), 1)
    store = MemoryBlobs()
    operator = SessionWindows(job, store)
    assert operator.process(table([(0, "a", 1, True), (9, "a", 1, True), (19, "a", 1, True)])) == 0
    assert [a for t in operator.punctuate(Punctuation(18)) for a in read(job, t)] == []
    assert [a for t in operator.punctuate(Punctuation(19)) for a in read(job, t)] == [((0, 19, "final", "a"), (2,))]
    operator = SessionWindows(job, store)
    assert operator.promise == 19
    # One of them alone would have joined the two others.
    assert operator.process(table([(18, "a", 1, True), (28, "a", 1, True)])) == 1
    (answers,) = operator.punctuate(Punctuation(28, final=True))
    assert read(job, answers) == [((19, 38, "final", "a"), (2,))]
    assert operator.promise == 38


@pytest.mark.parametrize("ends", [False, True], ids=["one session", "many sessions"])
def test_the_log_is_tidied_up(ends: bool) -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Session(3), 1)
    store = MemoryBlobs()
    operator = SessionWindows(job, store)
    answered = 0
    for step in range(0, 400, 4 if ends else 2):
        operator.process(table([(step, str(k), 1, True) for k in range(20)]))
        answered += sum(t.num_rows for t in operator.punctuate(Punctuation(step + 1)))
        assert sum(len(b) for b in store.blobs.values()) < 200_000
        assert len(store.blobs) < 60
    operator = SessionWindows(job, store)
    answered += sum(t.num_rows for t in operator.punctuate(Punctuation(399, final=True)))
    assert answered == (2000 if ends else 20)
    assert list(store.blobs) == ["progress"]


def test_only_sessions_are_taken() -> None:
    with pytest.raises(TypeError, match="is not a session"):
        SessionWindows(WindowAggregateJob(KEYS, NUMBERS, Sliding(5, 5)), MemoryBlobs())
