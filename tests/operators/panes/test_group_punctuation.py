"""Punctuation for some groups: they are answered early, once, and what then comes for them is late."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.group_promises import GroupPromises
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.progress.group_table import group_of, to_table
from millstream.progress.punctuation import Punctuation
from millstream.spark.stage.feeds import Feed, FeedProgress
from millstream.spark.stage.packets import TaskProgress, scatter
from millstream.windows.cumulate import Cumulate
from millstream.windows.landmark import Landmark
from millstream.windows.panes import Paned
from millstream.windows.sliding import Sliding
from millstream.windows.tuples import Tuple
from tests.drawing import drawn
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


@drawn(150)
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
    job = WindowAggregateJob(TWO_KEYS, NUMBERS, window)
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
    list(operator.end_batch())
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
    job = WindowAggregateJob(KEYS, NUMBERS[:1], Sliding(10, 10))
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
    list(operator.end_batch())
    assert store.get("promises") is not None
    (answer,) = operator.punctuate(Punctuation(10))
    assert read(job, answer) == [((0, 10, "final", "b"), (2,))]
    list(operator.end_batch())
    assert store.get("promises") is None
    assert list(operator.punctuate(Punctuation(10, group=(("k", "b"),)))) == []


@pytest.mark.parametrize(("window", "group"), [(Landmark(10), (("k", "a"),)), (Sliding(10, 10), (("v", 1),))])
def test_what_cannot_be_used_is_ignored(window: Paned, group: tuple[tuple[str, Any], ...]) -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, window)
    store = MemoryBlobs()
    operator = PanedAggregate(job, store)
    operator.process(partial_states(job, table([(1, "a", 1, True)])))
    assert list(operator.punctuate(Punctuation(10, group=group))) == []
    list(operator.end_batch())
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
    store = MemoryBlobs()
    promises = GroupPromises({"k": type_}, store)
    assert promises.add((("k", value),), 7)
    promises.save()
    keys = pa.table({"k": pa.array([other, value], type_)})
    opened = GroupPromises({"k": type_}, store)
    marks = opened.marks(keys)
    assert marks is not None
    assert (marks == 7).tolist() == [False, True]
    # What comes later is seen by those who have asked before, and what is no further is nothing new.
    assert opened.add((("k", other),), 9)
    assert opened.marks(keys) is not None
    assert marks.tolist() == [9, 7]
    assert not opened.add((("k", value),), 6)


# -- several streams that are read as one ------------------------------------------------------------------


class Stage:
    """Buckets of a window over several inputs, fed as a stage does."""

    def __init__(self, job: WindowAggregateJob, feeds: list[Feed], buckets: int) -> None:
        self.job, self.feeds = job, feeds
        self.stores = [MemoryBlobs() for _ in range(buckets)]
        self.found: list[tuple[Any, Any]] = []
        self.late = 0
        self.restart()

    def restart(self) -> None:
        self.parts = [(PanedAggregate(self.job, s), FeedProgress(self.feeds, s)) for s in self.stores]

    def batch(self, rows: list[pa.Table], said: list[TaskProgress]) -> list[Any]:
        """The answers to some rows of each input, and to what is said of them."""
        for number in range(len(self.feeds)):
            scattered = scatter(partial_states(self.job, rows[number]), self.job.key_names, len(self.stores))
            for (operator, _), part in zip(self.parts, scattered, strict=True):
                self.late += operator.process(part)
        answers = []
        for (operator, inputs), store in zip(self.parts, self.stores, strict=True):
            inputs.take(said)
            for punctuation in inputs.punctuation(said, inputs.ended_ports(said)):
                answers += [a for t in operator.punctuate(punctuation) for a in read(self.job, t)]
            list(operator.end_batch())
            inputs.save(store)
        self.found += answers
        return answers


def promised(feed: int, *promises: tuple[int, dict[str, Any]]) -> TaskProgress:
    """What an input promises to groups, as ingress tells it."""
    groups = [to_table({group_of(group.items()): time}, dict(TWO_KEYS)) for time, group in promises]
    return TaskProgress(feed=feed, groups=pa.concat_tables(groups))


SIDES = st.tuples(numbers(keys=2), numbers(keys=2))
SAID = st.tuples(st.lists(PROMISES, max_size=2), st.none() | st.integers(-45, 70))
"""What an input says in a batch: promises to groups, and perhaps one for all of it."""


@drawn(150)
@given(
    sides=SIDES,
    window=WINDOWS,
    steps=st.lists(st.tuples(SAID, SAID), min_size=1, max_size=5),
    buckets=st.integers(1, 3),
    restarts=st.booleans(),
)
def test_a_union_closes_a_group_as_soon_as_all_have_promised_it(
    sides: tuple[pa.Table, pa.Table], window: Paned, steps: list[Any], buckets: int, restarts: bool
) -> None:
    """Inputs keep their promises. Then a window of a group is answered when all of them are past it, and never else."""
    job = WindowAggregateJob(TWO_KEYS, NUMBERS, window)
    stage = Stage(job, [Feed(), Feed()], buckets)
    made: tuple[list[Any], list[Any]] = ([], [])
    good: list[pa.Table] = []
    size = [-(-rows.num_rows // len(steps)) for rows in sides]
    for number, said in enumerate(steps):
        batch = []
        for feed in (0, 1):
            part = sides[feed].slice(number * size[feed], size[feed])
            batch.append(part.filter(pa.array([_kept(made[feed], row) for row in part.to_pylist()], pa.bool_())))
        good += batch
        told = []
        for feed, (promises, whole) in enumerate(said):
            told += [promised(feed, *[(time, dict(group)) for time, group in promises])] if promises else []
            told += [] if whole is None else [TaskProgress(feed=feed, promises=((None, whole),))]
            made[feed].extend((time, dict(group)) for time, group in promises)
            made[feed].extend([] if whole is None else [(whole, {})])
        stage.batch(batch, told)
        expected = finals(job, pa.concat_tables(good).combine_chunks())
        assert_same(_answers(stage), {p: a for p, a in expected.items() if p[1] <= _past(made, p[3:])})
        if restarts:
            stage.restart()
    stage.batch([sides[0].slice(0, 0)] * 2, [TaskProgress(newest=60, final=(None,), feed=None)])
    assert stage.late == 0
    assert_same(_answers(stage), finals(job, pa.concat_tables(good).combine_chunks()))


def _kept(made: list[tuple[int, dict[str, Any]]], row: dict[str, Any]) -> bool:
    return not any(row[TIME] < time and all(row[n] == value for n, value in group.items()) for time, group in made)


def _past(made: tuple[list[Any], list[Any]], keys: tuple[Any, ...]) -> int:
    """How far the slowest input has come for a group."""
    values = dict(zip(("k", "k1"), keys, strict=True))
    return min(
        max([-(10**9), *(time for time, group in mine if all(values[n] == v for n, v in group.items()))])
        for mine in made
    )


def _answers(stage: Stage) -> Answers:
    assert len(stage.found) == len({place for place, _ in stage.found}), "something was answered twice"
    return dict(stage.found)


def test_a_stage_before_promises_nothing_to_groups_but_keeps_to_its_low_watermark() -> None:
    stage = Stage(WindowAggregateJob(KEYS, NUMBERS[:1], Sliding(10, 10)), [Feed(), Feed(origins=2)], 1)
    rows = [table([(1, "a", 1, True), (2, "b", 1, True)]), table([(3, "a", 1, True)])]
    nothing = [rows[0].slice(0, 0)] * 2
    promise = to_table({(("k", "a"),): 30}, dict(KEYS))
    assert stage.batch(rows, [TaskProgress(feed=0, groups=promise)]) == []
    assert stage.batch(nothing, [TaskProgress(feed=1, promises=((0, 10),))]) == []
    assert stage.batch(nothing, [TaskProgress(feed=1, promises=((1, 12),))]) == [((0, 10, "final", "a"), (2,))]
    assert "stage/groups/0" in stage.stores[0].blobs
    stage.restart()
    blob = stage.stores[0].blobs["stage/groups/0"]
    assert stage.batch(nothing, [TaskProgress(feed=0, promises=((None, 10),))]) == [((0, 10, "final", "b"), (1,))]
    assert stage.stores[0].blobs["stage/groups/0"] is blob, "it has not changed"
    stage.batch(nothing, [TaskProgress(feed=0, promises=((None, 30),))])
    assert "stage/groups/0" not in stage.stores[0].blobs
