"""Punctuation for some groups: they are answered early, once, and what then comes for them is late."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.group_promises import GroupPromises
from millstream.operators.grouped import TIME, Grouped
from millstream.operators.paned_aggregate import PanedAggregate
from millstream.operators.partials import partial_states
from millstream.progress.punctuation import Punctuation
from millstream.windows.cumulate import Cumulate
from millstream.windows.landmark import Landmark
from millstream.windows.panes import Paned
from millstream.windows.sliding import Sliding
from millstream.windows.tuples import Tuple
from tests.operators.harness import KEYS, NUMBERS, Answers, assert_same, finals, numbers, read, table

TWO_KEYS = (("k", pa.string()), ("k1", pa.string()))
WINDOWS = st.one_of(
    st.builds(Sliding, st.integers(1, 17), st.integers(1, 17), st.integers(-3, 3)),
    st.builds(lambda step, steps, origin: Cumulate(step, step * steps, origin), *[st.integers(1, 5)] * 3),
)
PROMISES = st.tuples(
    st.integers(-45, 70),
    st.sets(st.sampled_from(["k", "k1"]), min_size=1).flatmap(
        lambda names: st.tuples(*[st.tuples(st.just(n), st.sampled_from(["a", "b", None])) for n in sorted(names)])
    ),
)


@settings(deadline=None, max_examples=150)
@given(
    rows=numbers(keys=2),
    window=WINDOWS,
    steps=st.lists(st.lists(PROMISES, max_size=2), min_size=1, max_size=5),
    whole=st.lists(st.integers(-45, 70), max_size=5),
    restarts=st.booleans(),
)
def test_what_is_not_late_is_answered_once(
    rows: pa.Table, window: Paned, steps: list[list[Any]], whole: list[int], restarts: bool
) -> None:
    """Tuples come in any order; those of panes that are promised away are taken out of what the oracle sees."""
    job = Grouped(TWO_KEYS, NUMBERS, window)
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    found: list[Any] = []
    made: list[tuple[int, dict[str, Any]]] = []
    good: list[pa.Table] = []
    size = -(-rows.num_rows // len(steps))
    for number, promises in enumerate(steps):
        batch = rows.slice(number * size, size)
        kept = [_is_good(window, row, made) for row in batch.to_pylist()]
        between = [not list(window.wids(Tuple(time))) for time in batch[TIME].to_pylist()]
        late = sum(not k and not b for k, b in zip(kept, between, strict=True))
        assert operator.process(partial_states(job, batch)) == late
        good.append(batch.filter(pa.array(kept, pa.bool_())))
        for time, group in promises:
            found += [a for t in operator.punctuate(Punctuation(time, group=group)) for a in read(job, t)]
            made.append((time, dict(group)))
        if number < len(whole):
            found += [a for t in operator.punctuate(Punctuation(whole[number])) for a in read(job, t)]
            made.append((whole[number], {}))
        list(operator.end_batch())
        if restarts:
            operator = PanedAggregate(job, store)
    found += [a for t in operator.punctuate(Punctuation(60, final=True)) for a in read(job, t)]
    assert len(found) == len({place for place, _ in found}), "something was answered twice"
    answers: Answers = dict(found)
    assert_same(answers, finals(job, pa.concat_tables(good).combine_chunks()))
    assert operator.promise is not None
    assert (store.get("promises") is not None) == any(g and t > operator.promise for t, g in made)


def _is_good(window: Paned, row: dict[str, Any], made: list[tuple[int, dict[str, Any]]]) -> bool:
    """A tuple is late if its pane lies before one that a promise reaches into."""

    def pane(time: int) -> int:
        return (time - window.origin) // window.pane

    return not any(
        pane(row[TIME]) < pane(time) and all(row[name] == value for name, value in group.items())
        for time, group in made
    )


def test_a_group_is_answered_early_and_only_once() -> None:
    job = Grouped(KEYS, NUMBERS[:1], Sliding(10, 10))
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    operator.process(partial_states(job, table([(1, "a", 1, True), (2, "b", 1, True), (11, "a", 1, True)])))
    (answer,) = operator.punctuate(Punctuation(10, group=(("k", "a"),)))
    assert read(job, answer) == [((0, 10, "final", "a"), (1,))]
    assert operator.promise is None
    assert list(operator.end_batch()) == []
    operator = PanedAggregate(job, store)
    # A promise to a group that nobody has seen yet holds as well.
    assert list(operator.punctuate(Punctuation(10, group=(("k", None),)))) == []
    late = table([(3, "a", 1, True), (3, None, 1, True), (3, "b", 1, True), (12, None, 1, True)])
    assert operator.process(partial_states(job, late)) == 2
    (answer,) = operator.punctuate(Punctuation(10))
    assert read(job, answer) == [((0, 10, "final", "b"), (2,))]
    assert store.get("promises") is None
    assert list(operator.punctuate(Punctuation(10, group=(("k", "b"),)))) == []


@pytest.mark.parametrize(("window", "group"), [(Landmark(10), (("k", "a"),)), (Sliding(10, 10), (("v", 1),))])
def test_what_cannot_be_used_is_ignored(window: Paned, group: tuple[tuple[str, Any], ...]) -> None:
    job = Grouped(KEYS, NUMBERS, window)
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    operator.process(partial_states(job, table([(1, "a", 1, True)])))
    assert list(operator.punctuate(Punctuation(10, group=group))) == []
    assert store.get("promises") is None


@pytest.mark.parametrize(
    ("type_", "value", "other"),
    [
        (pa.int32(), 5, 6),
        (pa.float64(), float("nan"), 1.0),
        (pa.timestamp("us", "UTC"), datetime(2020, 1, 1, tzinfo=UTC), None),
        (pa.string(), None, ""),
        (pa.bool_(), False, None),
    ],
)
def test_values_of_any_type_name_groups(type_: pa.DataType, value: Any, other: Any) -> None:
    job = Grouped((("k", type_),), NUMBERS, Sliding(10, 10))
    store = MemoryBlobs()
    GroupPromises(job, store).add((("k", value),), 7)
    marks = GroupPromises(job, store).marks(pa.table({"k": pa.array([other, value], type_)}))
    assert marks is not None
    assert (marks == 7).tolist() == [False, True]
