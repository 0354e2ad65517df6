"""States of frames equal those of their tuples taken at once, in every way they are found; and so do merged runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate, State, take
from millstream.aggregates.evaluation import over_frames
from millstream.aggregates.registry import BUILT_IN
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.ordered import frame_states as module
from millstream.operators.ordered.frame_states import frame_answers, frame_states
from millstream.operators.ordered.totals import Totals
from tests.aggregates.arguments import CONSTANTS, bindings
from tests.aggregates.test_laws import APPROXIMATE, same, values
from tests.drawing import drawn

every_aggregate = pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
quick = drawn(10)


def argument_values(cls: type[Aggregate], kinds: tuple[pa.DataType, ...]) -> list[st.SearchStrategy[Any]]:
    """What the arguments of an aggregate are drawn from."""
    parts = [st.one_of(st.none(), *[values(kind, cls.name in APPROXIMATE)] * 3) for kind in kinds]
    if cls.name in CONSTANTS:
        parts[1] = st.just(CONSTANTS[cls.name][1])
    return parts


def whole(aggregate: Aggregate, arguments: list[pa.Array], times: Any, chosen: list[int]) -> Any:
    """The answer over some tuples, taken at once."""
    places = pa.array(chosen, pa.int64())
    state = aggregate.reduce(
        aggregate.zero(1),
        np.zeros(len(chosen), dtype=np.int64),
        [a.take(places) for a in arguments],
        times[np.array(chosen, dtype=np.int64)],
    )
    return aggregate.finish(state)[0].as_py()


Sequence_ = tuple[Aggregate, list[pa.Array], Any]


@st.composite
def sequences(draw: st.DrawFn, cls: type[Aggregate], most: int = 40) -> Sequence_:
    kinds = draw(st.sampled_from(bindings(cls)))
    rows = draw(st.lists(st.tuples(st.integers(0, 20), *argument_values(cls, kinds)), min_size=1, max_size=most))
    rows.sort(key=lambda row: row[0])
    arguments = [pa.array([row[1 + i] for row in rows], kind) for i, kind in enumerate(kinds)]
    return cls(kinds), arguments, np.array([row[0] for row in rows], dtype=np.int64)


@every_aggregate
@quick
@given(data=st.data())
def test_frames_equal_their_tuples_taken_at_once(cls: type[Aggregate], data: st.DataObject) -> None:
    aggregate, arguments, times = data.draw(sequences(cls))
    size = len(times)
    ends = st.tuples(st.integers(0, size), st.integers(-1, size - 1))
    first, last = np.array(data.draw(st.lists(ends, min_size=1, max_size=20)), dtype=np.int64).T
    counts = data.draw(st.none() | st.lists(st.booleans(), min_size=size, max_size=size).map(np.array))
    found = frame_answers(aggregate, arguments, times, first, last, counts).to_pylist()
    states = aggregate.finish(frame_states(aggregate, arguments, times, first, last, counts)).to_pylist()
    assert same(found, states)
    for answer, begin, end in zip(found, first, last, strict=True):
        chosen = [i for i in range(begin, end + 1) if counts is None or counts[i]]
        assert same(answer, whole(aggregate, arguments, times, chosen)), (begin, end)


@every_aggregate
@quick
@given(data=st.data())
def test_what_frames_have_seen_before_counts(cls: type[Aggregate], data: st.DataObject) -> None:
    aggregate, arguments, times = data.draw(sequences(cls))
    before = aggregate.reduce(aggregate.zero(1), np.zeros(len(times), dtype=np.int64), arguments, times)
    frames = np.zeros(3, dtype=np.int64), np.array([-1, 0, len(times) - 1])
    found = frame_answers(aggregate, arguments, times, *frames, before=take(before, np.zeros(3, dtype=np.int64)))
    every = list(range(len(times)))
    expected = [whole(aggregate, arguments, times, every + more) for more in ([], [0], every)]
    assert same(found.to_pylist(), expected, slack=1e-6)


def test_frames_are_recomputed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    (median,) = (cls([pa.int64()]) for cls in BUILT_IN if cls.name == "median")
    column, times = [pa.array(np.arange(50))], np.arange(50)
    first, last = np.maximum(times - 9, 0), times
    expected = frame_answers(median, column, times, first, last)
    monkeypatch.setattr(module, "MOST_PAIRS", 25)
    assert frame_answers(median, column, times, first, last) == expected
    assert len(list(module._pieces(first, last))) > 20


def test_how_aggregates_are_evaluated() -> None:
    def how(name: str, *kinds: pa.DataType) -> str:
        return over_frames(next(cls for cls in BUILT_IN if cls.name == name)(kinds))

    assert {
        how("count_star"),
        how("sum", pa.int64()),
        how("avg", pa.decimal128(38, 2)),
        how("bool_or", pa.bool_()),
    } == {"prefix sums"}
    assert {
        how("sum", pa.float64()),
        how("max", pa.string()),
        how("last", pa.int64()),
        how("corr", *[pa.int64()] * 2),
    } == {"merge tree"}
    assert {how("median", pa.int64()), how("array_agg", pa.int64()), how("string_agg", *[pa.string()] * 2)} == {
        "recomputation"
    }


@every_aggregate
@quick
@given(data=st.data())
def test_merges_of_additive_aggregates_are_sums(cls: type[Aggregate], data: st.DataObject) -> None:
    aggregate, arguments, times = data.draw(sequences(cls))
    if not aggregate.additive:
        return
    groups = np.arange(len(times)) % 3
    whole_state = aggregate.reduce(aggregate.zero(3), groups, arguments, times)
    single = aggregate.reduce(aggregate.zero(len(times)), np.arange(len(times)), arguments, times)
    summed = aggregate.zero(3)
    for total, component in zip(summed, single, strict=True):
        assert component.dtype == np.int64
        np.add.at(total, groups, component)
    # Exactly the same state, once a merge with nothing has brought it into shape.
    shaped = aggregate.merge(summed, aggregate.zero(3))
    assert all((a == b).all() for a, b in zip(shaped, whole_state, strict=True))


@every_aggregate
@quick
@given(data=st.data())
def test_runs_are_merged(cls: type[Aggregate], data: st.DataObject) -> None:
    aggregate, arguments, times = data.draw(sequences(cls))
    size = len(times)
    cuts = data.draw(st.sets(st.integers(1, size - 1), max_size=6)) if size > 1 else set()
    starts = np.array([0, *sorted(cuts)], dtype=np.int64)
    single: State = aggregate.reduce(aggregate.zero(size), np.arange(size), arguments, times)
    before = aggregate.finish(single).to_pylist()
    found = aggregate.finish(aggregate.merge_runs(single, starts)).to_pylist()
    runs = zip(starts, [*starts[1:], size], strict=True)
    assert same(found, [whole(aggregate, arguments, times, list(range(a, b))) for a, b in runs])
    assert same(aggregate.finish(single).to_pylist(), before, slack=0)


def test_merging_no_runs() -> None:
    count = next(cls for cls in BUILT_IN if cls.name == "count_star")([])
    assert len(count.merge_runs(count.zero(0), np.empty(0, dtype=np.int64))[0]) == 0


@every_aggregate
@quick
@given(data=st.data())
def test_totals_go_on_after_a_restart(cls: type[Aggregate], data: st.DataObject) -> None:
    aggregate, arguments, times = data.draw(sequences(cls))
    blobs = MemoryBlobs()
    keys = pa.array(["b", None, "a"] * len(times)).slice(0, len(times))
    for i in range(0, len(times), 7):
        totals = Totals([("k", pa.string())], [aggregate], blobs)
        numbers = totals.find(pa.table({"k": keys.slice(i, 7)}))
        totals.add(0, numbers, [a.slice(i, 7) for a in arguments], times[i : i + 7])
        totals.save()
    totals = Totals([("k", pa.string())], [aggregate], blobs)
    found = aggregate.finish(totals.of(0, totals.find(pa.table({"k": pa.array(["b", "a", None, "c"])})))).to_pylist()
    mine = keys.to_pylist()
    for answer, key in zip(found, ["b", "a", None, "c"], strict=True):
        chosen = [i for i, k in enumerate(mine) if k == key]
        assert same(answer, whole(aggregate, arguments, times, chosen))
