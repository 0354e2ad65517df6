"""Panes that are written in parts: only what a batch has added, as long as that is not much more than the pane."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.panes import store as pane_store
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.tumbling import tumbling
from tests.drawing import drawn
from tests.operators.harness import KEYS, NUMBERS, Case, check, numbers, read, table

JOB = WindowAggregateJob(KEYS, NUMBERS[:1], tumbling(1_000_000))


@drawn(80)
@given(data=st.data(), length=st.integers(5, 60))
def test_equals_the_oracle_however_small_the_parts(data: st.DataObject, length: int) -> None:
    with mock.patch.object(pane_store, "SMALL", 0):
        check(Case(WindowAggregateJob(KEYS, NUMBERS, tumbling(length)), data.draw(numbers())), data)


def batch(store: MemoryBlobs, *tables: range) -> set[str]:
    """One tuple for each key, by an operator that finds its state in the store; gives the blobs that were written."""
    before = dict(store.blobs)
    operator = PanedAggregate(JOB, store)
    for keys in tables:
        operator.process(partial_states(JOB, table([(5, f"k{key}", 1, True) for key in keys])))
    list(operator.punctuate(Punctuation(0)))
    list(operator.end_batch())
    assert set(before) - set(store.blobs) <= {n for n in before if "~" in n}
    return {n for n, blob in store.blobs.items() if n.startswith("pane") and before.get(n) != blob}


def counts(store: MemoryBlobs) -> dict[str, int]:
    copy = MemoryBlobs()
    copy.blobs = dict(store.blobs)
    answered = PanedAggregate(JOB, copy).punctuate(Punctuation(10, final=True))
    return {place[-1]: found[0] for answers in answered for place, found in read(JOB, answers)}


def test_what_is_added_is_written_alone_until_it_is_much() -> None:
    store = MemoryBlobs()
    assert batch(store, range(10_000)) == {"pane/0~0"}
    assert batch(store, range(9_000)) == {"pane/0~1"}
    assert batch(store, range(1_000, 11_000)) == {"pane/0~2"}
    assert counts(store) == {f"k{k}": (k < 10_000) + (k < 9_000) + (k >= 1_000) for k in range(11_000)}
    assert batch(store, range(2_000)) == {"pane/0"}, "together they would be more than twice the first"
    assert not [name for name in store.blobs if "~" in name]
    assert batch(store, range(10)) == {"pane/0~0"}
    assert sum(counts(store).values()) == 31_010


def test_keys_that_repeat_within_a_batch_are_written_once() -> None:
    one, often = MemoryBlobs(), MemoryBlobs()
    batch(one, range(10_000))
    assert batch(often, *[range(10_000)] * 5) == {"pane/0~0"}
    assert len(often.blobs["pane/0~0"]) < 2 * len(one.blobs["pane/0~0"])
    assert counts(often) == dict.fromkeys(counts(one), 5)


def test_a_pane_has_no_more_than_so_many_parts() -> None:
    store = MemoryBlobs()
    with mock.patch.object(pane_store, "MOST_PARTS", 3):
        written = [batch(store, range(10_000 if n == 0 else 1)) for n in range(5)]
    assert written == [{"pane/0~0"}, {"pane/0~1"}, {"pane/0~2"}, {"pane/0"}, {"pane/0~0"}]
    assert sum(counts(store).values()) == 10_004


def test_a_small_pane_is_written_whole() -> None:
    store = MemoryBlobs()
    batch(store, range(1_000))
    assert batch(store, range(10)) == {"pane/0"}
