"""Window joins answer, batch by batch, what nested loops over all tuples do, and store no more than they need."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs, from_bytes
from millstream.operators.join import keys as join_keys
from millstream.operators.join import probe as join_probe
from millstream.operators.join import slice as join_slice
from millstream.operators.join import state as join_state
from millstream.operators.join import window_join
from millstream.operators.join.window_join import WindowJoin
from millstream.operators.join.window_join_job import JoinKind, WindowJoinJob
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.punctuation import Punctuation
from millstream.spark.stage.packets import scatter
from millstream.windows.reach import Band, Reach, SameTumble
from tests.drawing import drawn

some = drawn(40)
every_kind = pytest.mark.parametrize("kind", JoinKind, ids=lambda kind: kind.value)

LEFT = pa.schema({"lid": pa.int64(), "lt": pa.int64(), "lv": pa.int64()})
RIGHT = pa.schema({"rid": pa.int64(), "rt": pa.int64(), "rv": pa.int64()})
PROMISED = ("lt", "rt", "both")


@dataclass(frozen=True)
class Row:
    """A tuple; its number is unique on its side."""

    number: int
    time: int | None
    keys: tuple[Any, ...] = ()
    value: int | None = None


def table(rows: list[Row], port: int, types: list[pa.DataType]) -> pa.Table:
    """Tuples as the operator is given them."""
    side = "lr"[port]
    data = {f"__k{i}": pa.array([r.keys[i] for r in rows], type_) for i, type_ in enumerate(types)}
    data[f"{side}v"] = pa.array([r.value for r in rows], pa.int32())  # to be cast
    data[TIME] = pa.array([r.time for r in rows], pa.int64())
    data[f"{side}t"] = data[TIME]
    data[f"{side}id"] = pa.array([r.number for r in rows], pa.int64())
    return pa.table(data)


def less(pairs: pa.Table) -> pa.ChunkedArray:
    return pc.less(pairs["lv"], pairs["rv"])


# -- the reference -----------------------------------------------------------------------------------------


def near(reach: Reach, left: int, right: int) -> bool:
    if isinstance(reach, SameTumble):
        return (left - reach.origin) // reach.length == (right - reach.origin) // reach.length
    assert isinstance(reach, Band)
    distance = right - left
    return (reach.low is None or reach.low <= distance) and (reach.high is None or distance <= reach.high)


def equal(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return False
    return bool(one == other or (one != one and other != other))


Answer = tuple[int | None, int | None]


@dataclass(frozen=True)
class Promise:
    """No more tuples before a time that have these values among their keys, by the number of the key."""

    time: int
    values: tuple[tuple[int, Any], ...]

    def covers(self, row: Row) -> bool:
        return all(equal(row.keys[number], value) for number, value in self.values)

    @property
    def group(self) -> tuple[tuple[str, Any], ...]:
        return tuple((f"__k{number}", value) for number, value in self.values)


@dataclass
class Reference:
    """All tuples that have come, none ever dropped; answers are found by trying all pairs."""

    job: WindowJoinJob
    rows: tuple[list[Row], list[Row]] = field(default_factory=lambda: ([], []))
    marks: list[int | None] = field(default_factory=lambda: [None, None])
    answered: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    promised: tuple[list[Promise], list[Promise]] = field(default_factory=lambda: ([], []))
    late: int = 0

    def matches(self, left: Row, right: Row) -> bool:
        if left.time is None or right.time is None or not near(self.job.reach, left.time, right.time):
            return False
        if not all(equal(a, b) for a, b in zip(left.keys, right.keys, strict=True)):
            return False
        if self.job.residual is None:
            return True
        return left.value is not None and right.value is not None and left.value < right.value

    def matched(self, port: int, row: Row) -> bool:
        others = self.rows[1 - port]
        return any(self.matches(*((row, o) if port == 0 else (o, row))) for o in others)

    def can_match(self, port: int, row: Row) -> bool:
        """Whether a partner may still come, as far as times and keys go: tries all times of one."""
        if row.time is None or any(key is None for key in row.keys):
            return False
        mark = self.mark_of(1 - port, row)
        if mark is None:
            return True
        reach, time = self.job.reach, row.time
        return any(near(reach, *((time, o) if port == 0 else (o, time))) for o in range(mark, mark + 160))

    def live(self, port: int) -> list[Row]:
        """The tuples that must be stored."""
        found = [row for row in self.rows[port] if self.can_match(port, row)]
        if port == 0 and not self.job.kind.paired:
            found = [r for r in found if r.number not in self.answered[0] and not self.matched(0, r)]
        return found

    def mark_of(self, port: int, row: Row) -> int | None:
        """Up to where a side has promised that no tuple with the keys of a row comes."""
        whole = self.marks[port]
        for_keys = [p.time for p in self.promised[port] if p.covers(row)]
        return max([*for_keys, *([] if whole is None else [whole])], default=None)

    def batch(
        self,
        new: tuple[list[Row], list[Row]],
        marks: list[int | None],
        ended: set[int],
        promises: list[tuple[int, Promise]],
    ) -> Counter[Answer]:
        kind = self.job.kind
        kept = tuple([r for r in new[port] if not self.is_late(port, r)] for port in (0, 1))
        self.late += sum(len(new[port]) - len(kept[port]) for port in (0, 1))
        fresh = tuple({r.number for r in kept[port]} for port in (0, 1))
        for port in (0, 1):
            self.rows[port].extend(kept[port])
            if marks[port] is not None:
                self.marks[port] = max(marks[port], self.marks[port] or marks[port])  # type: ignore[type-var]
        for port, promise in promises:
            self.promised[port].append(promise)
        answers: Counter[Answer] = Counter()
        for left in self.rows[0]:
            for right in self.rows[1]:
                is_new = left.number in fresh[0] or right.number in fresh[1]
                if kind.paired and is_new and self.matches(left, right):
                    answers[left.number, right.number] += 1
        for port in (0, 1):
            for row in self.rows[port]:
                if row.number not in self.answered[port] and self.answers_alone(port, row, ended):
                    self.answered[port].add(row.number)
                    answers[(row.number, None) if port == 0 else (None, row.number)] += 1
        return answers

    def is_late(self, port: int, row: Row) -> bool:
        mark = self.mark_of(port, row)
        return mark is not None and row.time is not None and row.time < mark

    def answers_alone(self, port: int, row: Row, ended: set[int]) -> bool:
        kind = self.job.kind
        if kind is JoinKind.SEMI:
            return port == 0 and self.matched(0, row)
        preserved = {JoinKind.LEFT: [0], JoinKind.ANTI: [0], JoinKind.RIGHT: [1], JoinKind.FULL: [0, 1]}.get(kind, [])
        if port not in preserved or self.matched(port, row):
            return False
        return 1 - port in ended or not self.can_match(port, row)


# -- the run -----------------------------------------------------------------------------------------------


class Host:
    """Buckets of one join, fed as a stage does."""

    def __init__(self, job: WindowJoinJob, types: list[pa.DataType], buckets: int = 1) -> None:
        self.job, self.types = job, types
        self.stores = [MemoryBlobs() for _ in range(buckets if types else 1)]
        self.operators = [WindowJoin(job, store) for store in self.stores]
        self.late = 0

    def restart(self) -> None:
        self.operators = [WindowJoin(self.job, store) for store in self.stores]

    def batch(
        self,
        new: tuple[list[Row], list[Row]],
        marks: list[int | None],
        ended: set[int],
        promises: list[tuple[int, Promise]] | None = None,
    ) -> list[dict[str, Any]]:
        for port in (0, 1):
            for part in (new[port][::2], new[port][1::2]):
                scattered = scatter(table(part, port, self.types), self.job.key_names, len(self.stores))
                for operator, rows in zip(self.operators, scattered, strict=True):
                    self.late += operator.process(rows, port)
        answers = []
        for operator in self.operators:
            for port, promise in promises or ():
                assert not list(operator.punctuate(Punctuation(promise.time, port=port, group=promise.group)))
            for port in (0, 1):
                mark = marks[port]
                if mark is not None:
                    assert not list(operator.punctuate(Punctuation(mark, port=port)))
                    assert not list(operator.punctuate(Punctuation(mark + 99, port=port, group=(("k", 1),))))
                if port in ended:
                    assert not list(operator.punctuate(Punctuation(10**6, port=port, final=True)))
            for answer in operator.end_batch():
                assert answer.schema == self.job.answers
                answers += answer.to_pylist()
        return answers

    def stored(self, port: int) -> Counter[tuple[int, ...]]:
        """The times and keys of what is stored: not all kinds store the numbers of tuples."""
        rows: Counter[tuple[int, ...]] = Counter()
        for operator in self.operators:
            tables = [t.select([*self.job.key_names, TIME]) for t in operator._states[port].tables()]
            assert sum(t.num_rows for t in tables) == operator.live(port)
            for t in tables:
                rows.update(zip(*(column.to_pylist() for column in t.columns), strict=True))
        return rows


def numbers(answers: list[dict[str, Any]]) -> Counter[Answer]:
    return Counter((answer["lid"], answer.get("rid")) for answer in answers)


def assert_kept(promises: list[dict[str, int]], answers: list[dict[str, Any]]) -> None:
    for promise in promises:
        for answer in answers:
            times = {"lt": answer["lt"], "rt": answer.get("rt")}
            known = [time for time in times.values() if time is not None]
            times["both"] = max(known, default=None)
            assert all(times[name] is None or times[name] >= promise[name] for name in promise), (promise, answer)


# -- drawn cases -------------------------------------------------------------------------------------------

BOUNDS = st.none() | st.integers(-15, 15)
BANDS = st.tuples(BOUNDS, BOUNDS).map(lambda b: Band(*(b if None in b else sorted(b))))  # type: ignore[arg-type, type-var]
TUMBLES = st.builds(SameTumble, st.integers(1, 20), st.integers(-5, 5))
REACHES = st.one_of(BANDS, st.builds(Band, st.integers(-9, 0), st.integers(0, 9)), st.just(Band(2, 7)), TUMBLES)

INTS = (pa.int64(), st.sampled_from([1, 2, -(2**62), 2**62, None]))
STRINGS = (pa.string(), st.sampled_from(["", "a", "b\0", None]))
FLOATS = (pa.float64(), st.sampled_from([0.0, -0.0, float("nan"), 1.5, None]))
KEYS = st.sampled_from([(), (INTS,), (STRINGS,), (FLOATS,), (INTS, STRINGS), (FLOATS, INTS), (STRINGS, STRINGS)])


def weak(columns: list[pa.Array], rows: int) -> Any:
    """A hash that often is the same for different keys."""
    return join_keys.hash_keys(columns, rows) % 2


@contextmanager
def cramped(data: st.DataObject) -> Iterator[None]:
    """Limits so low that few tuples reach them, and hashes that fail to tell keys apart."""
    with ExitStack() as stack:
        for module, name, value in (
            (join_probe, "FEW", 0),
            (join_probe, "MOST_PAIRS", 3),
            (join_slice, "ROOM", 1),
            (join_state, "MOST_SLICES", 2),
            (join_state, "MOST_PARTS", 2),
            (join_state, "SMALL", 4),
            (window_join, "FEWER", 0),
        ):
            if data.draw(st.booleans(), label=name):
                stack.enter_context(patch.object(module, name, value))
        if data.draw(st.booleans(), label="weak"):
            stack.enter_context(patch.object(join_slice, "hash_keys", weak))
            stack.enter_context(patch.object(join_slice, "is_exact", lambda columns: not columns))
        yield


@st.composite
def arrivals(draw: st.DrawFn, keys: tuple[Any, ...]) -> list[tuple[list[Row], list[Row]]]:
    """The tuples of both sides in batches: about in the order of time, but for delays; some have no time."""
    drawn = []
    for port in (0, 1):
        spread = draw(st.sampled_from([60, 12]))
        time = st.tuples(st.integers(-spread // 2, spread), st.integers(0, 9), st.integers(0, 15))
        row = st.tuples(time, st.tuples(*(k[1] for k in keys)), st.none() | st.integers(0, 3))
        for number, ((at, delay, odd), key, value) in enumerate(draw(st.lists(row, max_size=18))):
            drawn.append((at + delay, port, Row(number, None if odd == 0 else at, key, value)))
    lag = draw(st.sampled_from([0, 0, 30]))  # of the right side behind the left one
    drawn.sort(key=lambda d: (d[0] + lag * d[1], d[1]))
    cuts = [0, *sorted(draw(st.lists(st.integers(0, len(drawn)), max_size=5))), len(drawn)]
    return [
        ([r for _, p, r in drawn[a:b] if p == 0], [r for _, p, r in drawn[a:b] if p == 1]) for a, b in pairwise(cuts)
    ]


def promises_for(keys: tuple[Any, ...]) -> st.SearchStrategy[tuple[int, Promise]]:
    """Promises of a side to some values of some of the keys."""
    chosen = st.sets(st.integers(0, len(keys) - 1), min_size=1).map(sorted)
    values = chosen.flatmap(lambda some: st.tuples(*[st.tuples(st.just(n), keys[n][1]) for n in some]))
    return st.tuples(st.integers(0, 1), st.builds(Promise, st.integers(-30, 70), values))


def run_drawn(job: WindowJoinJob, keys: tuple[Any, ...], data: st.DataObject) -> None:
    """Run a job batch by batch, and compare all that can be seen of it with the reference."""
    with_groups = bool(job.key_types) and data.draw(st.booleans(), label="groups")
    host = Host(job, [k[0] for k in keys], data.draw(st.integers(1, 7), label="buckets"))
    reference = Reference(job)
    slack = data.draw(st.sampled_from([9, 9, 3]), label="slack")  # less than the delays: some tuples are late
    restarts = data.draw(st.booleans(), label="restarts")
    newest: list[int | None] = [None, None]
    promises: list[dict[str, int]] = []
    batches = data.draw(arrivals(keys), label="batches")
    for batch in [*batches, ([], [])]:
        for port in (0, 1):
            known = [r.time for r in batch[port] if r.time is not None]
            newest[port] = max([*known, *([] if newest[port] is None else [newest[port]])], default=None)
        said = data.draw(st.tuples(st.booleans(), st.booleans()), label="punctuated")
        marks = [None if n is None or not s else n - slack for n, s in zip(newest, said, strict=True)]
        ended = data.draw(st.sets(st.integers(0, 1)) if data.draw(st.booleans()) else st.just(set()), label="ended")
        told = data.draw(st.lists(promises_for(keys), max_size=3), label="promises") if with_groups else []
        answers = host.batch(batch, marks, ended, told)
        assert numbers(answers) == reference.batch(batch, marks, ended, told)
        assert host.late == reference.late
        for port in (0, 1):
            times = Counter(place[-1] for place in host.stored(port).elements())
            assert times == Counter(row.time for row in reference.live(port))
        assert_kept(promises, answers)
        promises += [dict(operator.promises) for operator in host.operators[:1]]
        if restarts:
            host.restart()
        for operator in host.operators[:1]:
            assert dict(operator.promises) == promises[-1]


@every_kind
@drawn(100)
@given(data=st.data(), reach=REACHES, keys=KEYS, residual=st.sampled_from([None, less]))
def test_equals_nested_loops(kind: JoinKind, data: st.DataObject, reach: Reach, keys: Any, residual: Any) -> None:
    job = WindowJoinJob(kind, reach, len(keys), LEFT, RIGHT, residual, PROMISED, tuple(k[0] for k in keys))
    with cramped(data):
        run_drawn(job, keys, data)


@every_kind
@drawn(40)
@given(data=st.data(), reach=REACHES, keys=KEYS.filter(len), restarts=st.booleans())
def test_promises_that_are_kept_change_nothing_but_when(
    kind: JoinKind, data: st.DataObject, reach: Reach, keys: Any, restarts: bool
) -> None:
    """All answers of tuples that break no promise are those of a run in which nothing is promised before the end."""
    job = WindowJoinJob(kind, reach, len(keys), LEFT, RIGHT, None, PROMISED, tuple(k[0] for k in keys))
    host, judge = Host(job, [k[0] for k in keys], 3), Reference(job)
    found: Counter[Answer] = Counter()
    batches = data.draw(arrivals(keys), label="batches")
    for number, batch in enumerate(batches):
        kept = tuple([r for r in batch[port] if not judge.is_late(port, r)] for port in (0, 1))
        told = data.draw(st.lists(promises_for(keys), max_size=3), label="promises")
        ended = {0, 1} if number == len(batches) - 1 else set()
        found += numbers(host.batch((kept[0], kept[1]), [None, None], ended, told))
        judge.batch((kept[0], kept[1]), [None, None], set(), told)
        if restarts:
            host.restart()
    assert host.late == 0
    assert found == Reference(job).batch(judge.rows, [None, None], {0, 1}, [])


# -- fixed cases -------------------------------------------------------------------------------------------


def one_key(kind: JoinKind, reach: Reach, residual: Any = None) -> Host:
    return Host(WindowJoinJob(kind, reach, 1, LEFT, RIGHT, residual, PROMISED), [pa.int64()])


def rows(*times: int | None, key: int | None = 1, first: int = 0) -> list[Row]:
    return [Row(first + n, time, (key,)) for n, time in enumerate(times)]


def bytes_of(host: Host) -> int:
    return sum(len(blob) for store in host.stores for blob in store.blobs.values())


@every_kind
def test_equals_duckdb_over_whole_tables(kind: JoinKind) -> None:
    random = np.random.default_rng(7)

    def side(name: str, count: int) -> pa.Table:
        keys = random.integers(0, 40, count)
        data = {
            "__k0": pa.array(keys, mask=keys == 39),
            "__k1": pa.array(np.array(["x", "y", "z"])[random.integers(0, 3, count)]),
            TIME: pa.array(np.sort(random.integers(0, 100_000, count))),
            f"{name}v": pa.array(random.integers(0, 9, count), mask=random.random(count) < 0.1),
            f"{name}id": pa.array(np.arange(count)),
        }
        return pa.table({**data, f"{name}t": data[TIME]})

    left, right = side("l", 4000), side("r", 3000)
    job = WindowJoinJob(kind, Band(-700, 1500), 2, LEFT, RIGHT, less)
    operator = WindowJoin(job, MemoryBlobs())
    found = []
    for begin in range(0, 100_001, 7_000):  # in time order, so that nothing is late
        for port, table_ in enumerate((left, right)):
            inside = pc.and_(pc.greater_equal(table_[TIME], begin), pc.less(table_[TIME], begin + 7_000))
            assert operator.process(table_.filter(inside), port) == 0
            assert not list(operator.punctuate(Punctuation(begin + 7_000, port=port)))
            if begin + 7_000 > 100_000:
                assert not list(operator.punctuate(Punctuation(0, port=port, final=True)))
        found += [answer for table_ in operator.end_batch() for answer in table_.to_pylist()]
    columns = "lid, rid" if kind.paired else "lid"
    with duckdb.connect() as connection:
        expected = connection.execute(f"""
            SELECT {columns} FROM "left" AS l {kind.value} JOIN "right" AS r
            ON l.__k0 = r.__k0 AND l.__k1 = r.__k1 AND rt - lt BETWEEN -700 AND 1500 AND lv < rv""").fetchall()
    assert len(expected) > 500
    assert numbers(found) == Counter((row[0], row[1] if kind.paired else None) for row in expected)


KEY_VALUES = [
    (pa.int8(), [1, -1, 127]),
    (pa.uint64(), [1, 2**64 - 1, 2**63]),
    (pa.float32(), [0.5, float("nan"), float("inf")]),
    (pa.bool_(), [True, False]),
    (pa.date32(), [dt.date(1969, 12, 31), dt.date(2026, 1, 1)]),
    (pa.time64("us"), [dt.time(1), dt.time(2)]),
    (pa.timestamp("us", "UTC"), [dt.datetime(1969, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)]),
    (pa.duration("us"), [dt.timedelta(1), dt.timedelta(-1)]),
    (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-1.50")]),
    (pa.decimal128(38, 2), [Decimal("1.50"), Decimal(2) ** 64 + Decimal("1.50")]),
    (pa.large_string(), ["a", "b"]),
    (pa.binary(), [b"a", b"\xff\0", b""]),
    (pa.binary(2), [b"ab", b"\xff\0"]),
    (pa.dictionary(pa.int32(), pa.string()), ["a", "b"]),
    (pa.list_(pa.int64()), [[1, 2], [1], []]),
    (pa.struct({"x": pa.int64()}), [{"x": 1}, {"x": None}]),
]


@pytest.mark.parametrize(("type_", "values"), KEY_VALUES, ids=lambda v: str(v) if isinstance(v, pa.DataType) else "")
def test_keys_of_every_type(type_: pa.DataType, values: list[Any]) -> None:
    host = Host(WindowJoinJob(JoinKind.FULL, Band(-5, 5), 1, LEFT, RIGHT), [type_])
    lefts = [Row(n, 0, (value,)) for n, value in enumerate([*values, None])]
    rights = [Row(n, 1, (value,)) for n, value in enumerate([*values, None, *values])]
    size = len(values)
    nulls = {(size, None): 1}
    assert numbers(host.batch((lefts, []), [None, None], set())) == nulls
    host.restart()
    expected = {(n, m): 1 for n in range(size) for m in (n, size + 1 + n)}
    assert numbers(host.batch(([], rights), [None, None], set())) == {**expected, (None, size): 1}


@pytest.mark.parametrize(("type_", "values"), KEY_VALUES, ids=lambda v: str(v) if isinstance(v, pa.DataType) else "")
def test_promises_to_keys_of_every_type(type_: pa.DataType, values: list[Any]) -> None:
    host = Host(WindowJoinJob(JoinKind.LEFT, Band(-5, 5), 1, LEFT, RIGHT, key_types=(type_,)), [type_])
    host.batch(([Row(n, 10, (value,)) for n, value in enumerate(values)], []), [None, None], set())
    host.restart()
    for n, value in enumerate(values):
        promise = Promise(16, ((0, value),))
        assert numbers(host.batch(([], []), [None, None], set(), [(1, promise)])) == {(n, None): 1}
        assert host.operators[0].live(0) == len(values) - n - 1
        host.restart()
    host.batch(([], [Row(n, 15, (value,)) for n, value in enumerate(values)]), [None, None], set())
    assert host.late == len(values)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_key_is_settled_as_soon_as_the_other_side_has_promised_it(restarts: bool) -> None:
    job = WindowJoinJob(JoinKind.LEFT, Band(-5, 5), 1, LEFT, RIGHT, None, PROMISED, (pa.int64(),))
    host = Host(job, [pa.int64()])

    def again(*batch: Any) -> Counter[Answer]:
        answers = numbers(host.batch(*batch))
        if restarts:
            host.restart()
        return answers

    def until(time: int, key: int | None, port: int = 1) -> tuple[int, Promise]:
        return port, Promise(time, ((0, key),))

    many = [*rows(10, 11, 20), *rows(10, key=2, first=3)]
    assert again((many, [Row(0, 12, (1,))]), [None, None], set()) == {(0, 0): 1, (1, 0): 1}
    assert host.operators[0].waits == 16
    assert again(([], []), [None, None], set(), [until(16, 1)]) == {}  # 10 has had a match, and can have no other
    assert host.stored(0) == {(1, 11): 1, (1, 20): 1, (2, 10): 1}
    assert host.stored(1) == {(1, 12): 1}  # the left side has promised nothing
    assert host.operators[0].waits == 16  # for key 2
    assert again(([], []), [None, None], set(), [until(26, 1), until(90, None)]) == {(2, None): 1}
    assert again(([], []), [None, None], set(), [until(25, 1)]) == {}
    # New ones are answered at once and not stored, but for those that may have other partners; what is late is dropped.
    new, late = rows(9, 20, 21, first=4), rows(25, 26, first=1)
    assert again((new, late), [None, None], set()) == {(4, 0): 1, (5, None): 1, (6, 2): 1}
    assert host.late == 1
    assert host.stored(0) == {(1, 21): 1, (2, 10): 1}
    assert ("1/promises" in host.stores[0].blobs, "0/promises" in host.stores[0].blobs) == (True, False)
    # Once the whole side is as far, nothing is remembered of the promise, and nothing is answered again.
    assert again(([], []), [None, 30], set()) == {(3, None): 1}
    assert "1/promises" not in host.stores[0].blobs
    assert host.stored(0) == {}


@pytest.mark.parametrize("restarts", [False, True])
def test_what_has_been_answered_as_its_time_passed_is_not_answered_for_its_key(restarts: bool) -> None:
    job = WindowJoinJob(JoinKind.LEFT, Band(-100, 5), 1, LEFT, RIGHT, key_types=(pa.int64(),))
    host = Host(job, [pa.int64()])
    host.batch((rows(10, 20, 21), []), [None, None], set())
    assert numbers(host.batch(([], []), [None, 16], set())) == {(0, None): 1}
    assert len(host.operators[0]._states[0].slices[0]) == 3  # too few are dead to write it anew
    for time, expected in ((18, {}), (26, {(1, None): 1}), (40, {(2, None): 1})):
        if restarts:
            host.restart()
        answers = numbers(host.batch(([], []), [None, None], set(), [(1, Promise(time, ((0, 1),)))]))
        assert answers == expected
    assert numbers(host.batch(([], []), [None, 50], set())) == {}


def test_without_a_bound_a_promise_frees_nothing() -> None:
    job = WindowJoinJob(JoinKind.LEFT, Band(-5, None), 1, LEFT, RIGHT, key_types=(pa.int64(),))
    host = Host(job, [pa.int64()])
    assert not host.batch((rows(10), []), [None, None], set(), [(1, Promise(10**6, ((0, 1),)))])
    assert host.stored(0) == {(1, 10): 1}


def test_minus_zero_is_zero() -> None:
    host = Host(WindowJoinJob(JoinKind.INNER, Band(0, 0), 1, LEFT, RIGHT), [pa.float64()])
    assert numbers(host.batch(([Row(0, 1, (0.0,))], [Row(0, 1, (-0.0,))]), [None, None], set())) == {(0, 0): 1}


def test_what_is_late_is_told_by_the_low_watermark_before_the_batch() -> None:
    host = one_key(JoinKind.FULL, Band(-5, 5))
    host.batch((rows(5), []), [10, 20], set())
    assert host.late == 0
    # At once: the left one is late, the right one not, though the low-watermark of the left side is past it.
    answers = host.batch((rows(9, 10, None, first=1), rows(20, 19)), [50, None], set())
    assert host.late == 2
    assert numbers(answers) == {(3, None): 1, (2, None): 1, (None, 0): 1}
    host.batch((rows(49, first=4), []), [None, None], set())
    assert host.late == 3


def test_the_low_watermark_does_not_go_back() -> None:
    host = one_key(JoinKind.INNER, Band(-5, 5))
    host.batch(([], []), [10, 10], set())
    host.batch(([], []), [7, None], set())
    host.restart()
    assert host.operators[0].low_watermarks == [10, 10]
    assert host.operators[0].promises == {"lt": 5, "rt": 5, "both": 10}


def test_a_tuple_whose_partners_have_passed_is_not_stored() -> None:
    host = one_key(JoinKind.INNER, Band(0, 5))
    host.batch((rows(10, 94, 95), rows(12)), [None, 100], set())
    assert host.stored(0) == {(1, 95): 1}
    assert host.operators[0].live(1) == 1  # nothing is known of the left side yet
    assert [from_bytes(blob)[TIME].to_pylist() for _, blob in host.stores[0].scan("0/slice/")] == [[95]]


@every_kind
def test_the_store_is_nearly_empty_once_everything_is_dead(kind: JoinKind) -> None:
    host = one_key(kind, Band(-50, 50), less)
    times = range(1000)
    host.batch(([Row(n, n, (n % 7,), 1) for n in times], [Row(n, n, (n % 7,), n % 3) for n in times]), [0, 0], set())
    full = bytes_of(host)
    assert full > 10_000
    host.batch(([], []), [700, 700], set())
    assert 0 < host.operators[0].live(1) <= 350
    half = bytes_of(host)
    assert half < 0.7 * full
    host.batch(([], []), [2000, 2000], set())
    assert [host.operators[0].live(port) for port in (0, 1)] == [0, 0]
    assert bytes_of(host) < 100


def test_blobs_that_have_not_changed_are_not_written_again() -> None:
    host = one_key(JoinKind.LEFT, Band(-100, 100))
    host.batch((rows(*range(50)), rows(*range(50), key=2)), [0, 0], set())
    before = dict(host.stores[0].blobs)
    host.batch((rows(60, first=50), rows(61, key=3, first=50)), [10, 10], set())
    after = host.stores[0].blobs
    assert all(after[name] is before[name] for name in before if name != "progress")


def test_few_slices_come_of_many_batches() -> None:
    for reach in (Band(-400, 400), Band(None, None), Band(0, 0)):  # in few granules, in one, in very many
        host = one_key(JoinKind.INNER, reach)
        for time in range(300):
            host.batch((rows(time, first=time), []), [None, None], set())
        assert host.operators[0].live(0) == 300
        assert len(host.stores[0].blobs) <= join_state.MOST_SLICES
        host.restart()
        assert len(host.batch(([], rows(100)), [None, None], set())) == (1 if reach == Band(0, 0) else 300)


@pytest.mark.parametrize("restarts", [False, True])
def test_more_may_come_after_the_end(restarts: bool) -> None:
    def again(host: Host, *batch: Any) -> Counter[Answer]:
        answers = numbers(host.batch(*batch))
        if restarts:
            host.restart()
        return answers

    host = one_key(JoinKind.FULL, Band(-5, 5))
    assert again(host, (rows(10, 20), rows(11)), [15, 15], {0, 1}) == {(0, 0): 1, (1, None): 1}
    assert again(host, ([], []), [None, None], {0, 1}) == {}  # once is enough
    # A partner has come after all. The one without a match is answered when it is over, for the input goes on.
    assert again(host, ([], rows(21, 30, first=1)), [None, None], set()) == {(1, 1): 1}
    assert again(host, ([], []), [36, 36], set()) == {(None, 2): 1}
    anti = one_key(JoinKind.ANTI, Band(-5, 5))
    assert again(anti, (rows(10, 20), rows(11)), [15, 15], {1}) == {(1, None): 1}
    assert again(anti, ([], rows(21)), [None, None], {1}) == {}


def test_tuples_without_a_time_or_a_key_match_nothing() -> None:
    for kind in JoinKind:
        host = one_key(kind, Band(None, None))
        lefts, rights = [Row(0, None, (1,)), Row(1, 5, (None,))], [Row(0, None, (1,)), Row(1, 5, (None,))]
        answers = numbers(host.batch((lefts, rights), [9, 9], set()))
        expected = [(n, None) for n in (0, 1) if kind.preserves(0)] + [(None, n) for n in (0, 1) if kind.preserves(1)]
        assert answers == Counter(expected)
        assert [host.operators[0].live(port) for port in (0, 1)] == [0, 0]


def test_a_side_may_carry_no_columns() -> None:
    job = WindowJoinJob(JoinKind.LEFT, Band(0, 5), 1, pa.schema([]), RIGHT)
    operator = WindowJoin(job, MemoryBlobs())
    operator.process(table(rows(1, 2, None), 0, [pa.int64()]), 0)
    operator.process(table(rows(1), 1, [pa.int64()]), 1)
    list(operator.punctuate(Punctuation(9, port=1)))
    answers = [row for answer in operator.end_batch() for row in answer.to_pylist()]
    assert Counter(row["rid"] for row in answers) == {0: 1, None: 2}


def test_hashes_of_another_version_do_no_harm() -> None:
    job = WindowJoinJob(JoinKind.LEFT, Band(-50, 50), 1, LEFT, RIGHT)
    host = Host(job, [pa.string()])
    lefts = [Row(n, n, (f"k{n % 5}",)) for n in range(20)]
    host.batch((lefts, [Row(0, 0, ("k1",))]), [None, None], set())
    with patch.object(join_slice, "hash_keys", lambda columns, rows: -join_keys.hash_keys(columns, rows)):
        host.restart()
        host.batch(([], [Row(1, 1, ("k2",))]), [None, None], set())
        host.restart()
        answers = numbers(host.batch(([], []), [None, 100], set()))
    assert answers == {(n, None): 1 for n in range(20) if n % 5 not in (1, 2)}


@pytest.mark.parametrize("restarts", [False, True])
def test_each_without_a_match_is_answered_once_as_its_time_passes(restarts: bool) -> None:
    host = one_key(JoinKind.LEFT, Band(-100, 5))
    host.batch((rows(1, 10, 11, 12, 13), []), [None, 0], set())
    assert len(host.operators[0]._states[0].slices) == 1
    answered = {}
    for mark in range(1, 30):
        for answer in host.batch(([], []), [None, mark], set()):
            assert answered.setdefault(answer["lt"], mark) == mark
        if restarts:
            host.restart()
    assert answered == {time: time + 6 for time in (1, 10, 11, 12, 13)}


@every_kind
def test_what_is_promised(kind: JoinKind) -> None:
    host = one_key(kind, Band(-7, 5))
    host.batch(([], []), [100, None], set())
    assert host.operators[0].promises == {}
    host.batch(([], []), [None, 101], set())
    # The later time of a tuple without a match is its own, and it waits for one.
    alone = [time for time, port in ((96, 0), (93, 1)) if kind.preserves(port) or (kind is JoinKind.SEMI and port == 0)]
    assert host.operators[0].promises == {"lt": 96, "rt": 93, "both": min([100, *alone])}
    assert host.operators[0].promise is None
