"""Members of a host, without Spark: they come and go at any batch, batches come again, and each has what is its own."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millstream.catalog.catalog import Catalog
from millstream.connectors.places.query_place import QueryPlace
from millstream.language.binder import bind
from millstream.language.bound import Define, Start
from millstream.language.parser import statements
from millstream.operators.blobs import from_bytes
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from millstream.plan.sharing.shared_plan import shared_plan
from millstream.plan.sharing.states import begun_at, states_for
from millstream.spark.host import Host
from millstream.spark.hosts import host_bucket
from millstream.spark.hosts.common_steps import CommonSteps
from millstream.spark.hosts.compile_member import Candidate, compile_members
from millstream.spark.hosts.freight import Kind, Piece
from millstream.spark.hosts.host_bucket import Bow, HostBucket
from millstream.spark.hosts.host_ingress import FreightBuffer, HostInlet
from millstream.spark.hosts.host_log_ingress import cut
from millstream.spark.hosts.member import FIRST, BatchMembers, Begin, Member, SharedState
from millstream.spark.hosts.roster import Roster, read_batch_members
from millstream.spark.stage.bucket_state import BucketState
from millstream.spark.stage.ingress import control_marks
from millstream.spark.stage.time_limits import TimeLimits

BUCKETS = (0, 1)
STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 3 SECONDS SOURCE 'parquet:in';"
QUERIES = {
    "high": "SELECT k, v * 2 AS w FROM s WHERE v > 5 AND k <> 'c'",
    "odd": "SELECT v FROM s WHERE v > 5 AND v % 2 = 1",
    "tens": "SELECT k, count(*) [RANGE 10 SECONDS, WA ts] AS n, window_end FROM s GROUP BY k",
    "alike": "SELECT k AS key, count(*) [RANGE 10 SECONDS, WA ts] AS m FROM s GROUP BY k HAVING count(*) > 1",
    "slides": "SELECT k, count(*) [RANGE 12 SECONDS, SLIDE 4 SECONDS, WA ts] AS n, window_end FROM s GROUP BY k",
    "total": "SELECT sum(v) [RANGE 6 SECONDS, WA ts] AS total, window_end FROM s WHERE v > 5",
    "sessions": """SELECT k, window_end, count(*) AS n FROM
        SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND) GROUP BY k""",
    "frames": "SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY ts RANGE 5 SECONDS PRECEDING) AS t FROM s",
}


class SparkState:
    """The two state variables of a bucket."""

    def __init__(self) -> None:
        self.blobs: dict[Any, Any] = {}
        self.version: Any = None

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.blobs[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        self.blobs.pop(key, None)

    def iterator(self) -> Iterator[Any]:
        return iter(list(self.blobs.items()))

    def get(self) -> Any:
        return self.version

    def update(self, value: Any) -> None:
        self.version = value


def members(folder: Path, names: Sequence[str], begin: Begin = FIRST) -> dict[str, tuple[Member, SharedState | None]]:
    catalog = Catalog()
    plans = []
    for bound in (bind(s, catalog) for s in statements(STREAM)):
        assert isinstance(bound, Define)
        catalog.add(bound.definition)
    for name in names:
        (bound,) = (bind(s, catalog) for s in statements(f"CREATE QUERY {name} AS {QUERIES[name]}"))
        assert isinstance(bound, Start)
        plan = apply_passes(build(bound.query), catalog)
        plans.append(shared_plan(plan, physical(plan, Facts()), Facts()))
    place = QueryPlace(folder, "", fresh=True)
    place.save("buckets", {str(n): bucket for n, bucket in enumerate(BUCKETS)})
    spark: Any = None
    host = Host(spark, folder, Path, place=place, once=True)
    states = [s if s is None or begin == FIRST else begun_at(s, str(begin.position)) for s in states_for(plans)]
    ids = [name if begin == FIRST else f"{name}@{begin.position}" for name in names]
    found = [Candidate(id_, id_, plan, state, begin) for id_, plan, state in zip(ids, plans, states, strict=True)]
    return dict(zip(ids, compile_members(found, host), strict=True))


class Harness:
    """A host whose batches are driven by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.roster = Roster(folder)
        self.states = {bucket: SparkState() for bucket in BUCKETS}
        self.batch = self.position = 0
        self.rows: dict[str, Counter[tuple[Any, ...]]] = {}
        self.failed: dict[str, str] = {}

    def plan(self) -> None:
        """Spark writes down what a batch reads before its tasks start."""
        offsets = self.folder / "checkpoint" / "offsets"
        offsets.mkdir(parents=True, exist_ok=True)
        (offsets / str(self.batch)).touch()

    def run(self, tuples: pa.Table, *, again: int = 0, forget: bool = False, end: bool = False) -> None:
        """A batch, which is lost after its tasks and comes again so many times."""
        self.plan()
        before = copy.deepcopy(self.states)
        for _ in range(again):
            self._tasks(tuples, end)
            self.states = copy.deepcopy(before)
            host_bucket._CACHE.clear() if forget else None
        for piece in self._tasks(tuples, end):
            if piece.kind == Kind.ROWS:
                found = self.rows.setdefault(piece.who, Counter())
                found.update(tuple(row.values()) for row in from_bytes(piece.payload).to_pylist())
            elif piece.kind == Kind.FAILED:
                self.failed[piece.who] = piece.payload.decode()
        self.batch += 1
        self.position += tuples.num_rows

    def _tasks(self, tuples: pa.Table, end: bool) -> list[Piece]:
        here = read_batch_members(self.folder, self.batch)
        dealt: dict[int, list[Piece]] = {bucket: [] for bucket in BUCKETS}
        inlet = HostInlet(self.folder, BUCKETS, TimeLimits(), "ts")
        half = tuples.num_rows // 2
        for first, part in ((self.position, tuples.slice(0, half)), (self.position + half, tuples.slice(half))):
            hold = FreightBuffer(inlet, here)
            for start, stop in cut(first, first + part.num_rows, hold.places):
                rows = part.slice(start - first, stop - start)
                hold.take(rows, rows["ts"].cast(pa.int64()), None, (), start)
            for bucket, piece in hold.unload():
                dealt[bucket].append(piece)
        if end:
            word = pa.RecordBatch.from_pydict({"value": ["end"]})
            for packets in control_marks(BUCKETS, {"s": [0]})(iter([word])):
                for bucket, payload in zip(*(column.to_pylist() for column in packets.columns), strict=True):
                    dealt[bucket].append(Piece("", Kind.PACKET, payload))
        given: list[Piece] = []
        for bucket, pieces in dealt.items():
            state = self.states[bucket]
            run = HostBucket(
                Bow(self.folder, str(self.folder), "start"), bucket, BucketState("", 1, bucket, state, state)
            )
            given += run.run(pieces, here)
        return given


def drawn(draw: random.Random, batches: int) -> list[pa.Table]:
    """Tuples in order but for the slack, and a few that come too late."""
    made, now = [], 0
    for _ in range(batches):
        size = draw.randrange(0, 30)
        times = []
        for _ in range(size):
            now += draw.randrange(0, 2000)
            times.append(now - draw.randrange(0, 3000) - (20_000 if draw.random() < 0.05 else 0))
        stamps = pa.array((np.array(times, dtype=np.int64) + 10**9) * 1000, pa.timestamp("us", tz="UTC"))
        keys = [draw.choice(["a", "b", "c", None]) for _ in times]
        values = [draw.choice([None, *range(12)]) for _ in times]
        made.append(pa.table({"ts": stamps, "k": pa.array(keys, pa.string()), "v": pa.array(values, pa.int32())}))
    return made


def alone(folder: Path, name: str, batches: Sequence[pa.Table], since: int, until: int) -> Counter[tuple[Any, ...]]:
    """What a member gives that has a host to itself."""
    harness = Harness(folder)
    harness.roster.add(*members(folder, [name])[name], since=0)
    for number in range(since, until):
        harness.run(batches[number], end=number == len(batches) - 1)
    return harness.rows.get(name, Counter())


@pytest.mark.parametrize("seed", range(6))
def test_each_has_what_it_has_alone(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    batches = drawn(draw, 8)
    harness = Harness(tmp_path / "together")
    every = members(harness.folder, list(QUERIES))
    # States that several have begin for all of them at once: nobody may find what others have left there.
    begin = {"tens": 0, "alike": 0, "slides": 0}
    since = {name: begin.get(name, draw.randrange(0, 4)) for name in QUERIES}
    until = {name: draw.randrange(5, 9) for name in QUERIES}
    for number, batch in enumerate(batches):
        for name, first in since.items():
            if first == number:
                assert harness.roster.add(*every[name], since=number)
        for name, last in until.items():
            if last == number:
                harness.roster.end(name, number, "", dropped=True)
        harness.run(batch, again=draw.randrange(3), forget=draw.random() < 0.5, end=number == len(batches) - 1)
    assert not harness.failed
    for name in QUERIES:
        own = alone(tmp_path / name, name, batches, since[name], until[name])
        assert harness.rows.get(name, Counter()) == own, name
    kept = {name.partition("/")[0] for state in harness.states.values() for (name,) in state.blobs}
    assert kept == {every[name][0].state for name in QUERIES if until[name] >= len(batches)} - {None}


@pytest.mark.parametrize("seed", range(8))
def test_who_joins_at_a_position_has_what_it_has_alone_from_there(seed: int, tmp_path: Path) -> None:
    """Also in the middle of a batch, beside the same query from earlier on, and if its batches come again."""
    draw = random.Random(seed)
    batches = drawn(draw, 8)
    harness = Harness(tmp_path / "together")
    first = draw.sample(list(QUERIES), 3)
    for each in members(harness.folder, first).values():
        assert harness.roster.add(*each, since=0)
    joined: dict[str, tuple[str, int, int]] = {}
    for number, batch in enumerate(batches):
        if number:
            position = harness.position + draw.randrange(batch.num_rows + 1)
            for name, each in members(harness.folder, draw.sample(list(QUERIES), 2), Begin(position)).items():
                assert harness.roster.add(*each, since=number)
                joined[name] = name.partition("@")[0], number, position - harness.position
        harness.run(batch, again=draw.randrange(3), forget=draw.random() < 0.5, end=number == len(batches) - 1)
    assert not harness.failed
    for name in first:
        assert harness.rows.get(name, Counter()) == alone(tmp_path / name, name, batches, 0, 8), name
    for name, (query, since, skip) in joined.items():
        later = [*batches[:since], batches[since].slice(skip), *batches[since + 1 :]]
        assert harness.rows.get(name, Counter()) == alone(tmp_path / name, query, later, since, 8), name


def test_who_begins_at_a_time_has_no_tuple_from_before(tmp_path: Path) -> None:
    (batch,) = drawn(random.Random(7), 1)
    middle = sorted(batch["ts"].cast(pa.int64()).to_pylist())[batch.num_rows // 2]
    harness = Harness(tmp_path / "together")
    names = ["high", "tens", "frames"]
    for each in (*members(harness.folder, names).values(), *members(harness.folder, names, Begin(0, middle)).values()):
        assert harness.roster.add(*each, since=0)
    harness.run(batch, end=True)
    late = batch.filter(pc.greater_equal(batch["ts"].cast(pa.int64()), middle))
    for name in names:
        assert harness.rows.get(name, Counter()) == alone(tmp_path / name, name, [batch], 0, 1)
        assert harness.rows[f"{name}@0"] == alone(tmp_path / f"{name} late", name, [late], 0, 1)


def test_an_entry_for_a_batch_that_is_planned_does_not_count(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    every = members(tmp_path, ["high", "odd"])
    assert harness.roster.add(*every["high"], since=0)
    harness.plan()
    assert not harness.roster.add(*every["odd"], since=0)
    assert [member.name for member in read_batch_members(tmp_path, 0).members] == ["high"]
    assert Roster(tmp_path).entries["high"].counts


def test_states_that_are_equal_exist_once(tmp_path: Path) -> None:
    every = members(tmp_path, ["tens", "alike", "total", "high"])
    assert every["tens"][0].state == every["alike"][0].state
    assert len({member.state for member, _ in every.values() if member.state}) == 2


def test_what_several_need_is_computed_once(tmp_path: Path) -> None:
    every = members(tmp_path, list(QUERIES))
    steps = {name: member.before for name, (member, _) in every.items() if member.state is None}
    twins = {f"{name}{n}": one for name, one in steps.items() for n in range(50)}
    assert CommonSteps(twins).size == CommonSteps(steps).size


def test_a_member_that_fails_is_told_of_and_the_others_go_on(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    every = members(tmp_path, ["high", "tens", "total"])

    def choke(*_: object) -> Any:
        raise ValueError("it chokes")

    member, _ = every["high"]
    every["high"] = (Member(member.id, member.name, member.columns, member.read, (choke,)), None)  # type: ignore[arg-type]
    total, state = every["total"]
    assert state is not None
    every["total"] = (total, SharedState(state.id, state.read, state.inlet, state.before, state.feed, choke))
    for each in every.values():
        assert harness.roster.add(*each, since=0)
    (batch,) = drawn(random.Random(1), 1)
    harness.run(batch, end=True)
    assert set(harness.failed) == {"high", state.id}
    assert all(said.endswith("ValueError: it chokes") for said in harness.failed.values())
    assert harness.rows["tens"] == alone(tmp_path / "alone", "tens", [batch], 0, 1)


def test_nobody_is_there_before_there_is_a_roster(tmp_path: Path) -> None:
    assert read_batch_members(tmp_path / "nowhere", 0) == BatchMembers()
