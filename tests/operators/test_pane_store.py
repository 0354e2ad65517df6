"""Panes that are written in parts: only the keys that a batch has changed, as long as these are few."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.operators import pane_store
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.grouped import Grouped
from millstream.operators.paned_aggregate import PanedAggregate
from millstream.operators.partials import partial_states
from millstream.progress.punctuation import Punctuation
from millstream.windows.tumbling import tumbling
from tests.operators.harness import KEYS, NUMBERS, Case, check, numbers, read, table

JOB = Grouped(KEYS, NUMBERS[:1], tumbling(1_000_000))


@settings(deadline=None, max_examples=80)
@given(data=st.data(), length=st.integers(5, 60))
def test_equals_the_oracle_however_small_the_parts(data: st.DataObject, length: int) -> None:
    with mock.patch.object(pane_store, "MANY", 1):
        check(Case(Grouped(KEYS, NUMBERS, tumbling(length)), data.draw(numbers())), data)


def batch(store: MemoryBlobs, keys: range) -> set[str]:
    """One tuple for each key, by an operator that finds its state in the store; gives the blobs that were written."""
    before = dict(store.blobs)
    operator = PanedAggregate(JOB, store)
    operator.process(partial_states(JOB, table([(5, f"k{key}", 1, True) for key in keys])))
    list(operator.punctuate(Punctuation(0)))
    list(operator.end_batch())
    assert set(before) - set(store.blobs) <= {n for n in before if "+" in n}
    return {n for n, blob in store.blobs.items() if n.startswith("pane") and before.get(n) != blob}


def counts(store: MemoryBlobs) -> dict[str, int]:
    copy = MemoryBlobs()
    copy.blobs = dict(store.blobs)
    answered = PanedAggregate(JOB, copy).punctuate(Punctuation(10, final=True))
    return {place[-1]: found[0] for answers in answered for place, found in read(JOB, answers)}


def test_few_changes_are_written_alone_until_they_are_many() -> None:
    store = MemoryBlobs()
    assert batch(store, range(10_000)) == {"pane/0"}
    assert batch(store, range(2_000)) == {"pane/0+0"}
    assert batch(store, range(1_000, 3_000)) == {"pane/0+1"}
    assert counts(store) == {f"k{k}": 1 + (k < 2_000) + (1_000 <= k < 3_000) for k in range(10_000)}
    assert batch(store, range(9_000, 11_000)) == {"pane/0"}, "together they would be more than half of the pane"
    assert not [name for name in store.blobs if "+" in name]
    assert sum(counts(store).values()) == 16_000


def test_a_small_pane_is_written_whole() -> None:
    store = MemoryBlobs()
    batch(store, range(1_000))
    assert batch(store, range(10)) == {"pane/0"}
