"""Queries join a host that reads the log of a kept stream, without Spark: batches are planned and run by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.catalog.arrow import arrow_schema
from millstream.catalog.definitions import Query, Stream
from millstream.catalog.settings import Settings
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError
from millstream.history.log import HIDDEN, Part, promise_mark
from millstream.history.segments import SegmentWriter
from millstream.language.binder import bind
from millstream.language.bound import Define, Start
from millstream.language.parser import statements
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.engine.running import RunningQuery
from millstream.mill.engine.runtime import Place
from millstream.mill.engine.starts import start_of_host, starts_of
from millstream.mill.home.home import Home
from millstream.mill.hosts.member_start import MemberStart, begin_of, pace_of, states_from
from millstream.mill.manner import Manner, print_rows
from millstream.mill.stored.definitions import Definitions
from millstream.spark.host import Host
from millstream.spark.hosts import host_log_ingress as ingress
from millstream.spark.hosts.compile_member import Candidate, compile_members
from millstream.spark.hosts.freight import FREIGHT_FIELDS, Piece
from millstream.spark.hosts.host_bucket import Bow, HostBucket
from millstream.spark.hosts.host_counts import HostCounts
from millstream.spark.hosts.host_ingress import HostInlet
from millstream.spark.hosts.host_query import HostQuery, MemberHandle
from millstream.spark.hosts.roster import Roster, read_batch_members
from millstream.spark.stage.bucket_state import BucketState
from millstream.spark.stage.time_limits import TimeLimits
from tests.spark.hosts.test_members import SparkState

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts KEEP ALL SOURCE 'csv:in'"
SUMS = "SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total FROM s GROUP BY k"
HIGH = "SELECT k, v FROM s WHERE v > 5"
LAST = "SELECT v, count(*) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING) AS n FROM s"
BUCKETS = (0, 1)


class SparkQuery:
    """The Spark query of a host, which does nothing by itself."""

    isActive = True  # noqa: N815

    def exception(self) -> None:
        return None

    def stop(self) -> None:
        self.isActive = False


class Frame:
    """What comes from the stage."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces

    def toArrow(self) -> pa.Table:  # noqa: N802
        columns = zip(*self._pieces, strict=True) if self._pieces else ((), (), ())
        fields = list(FREIGHT_FIELDS)[1:]
        return pa.table(
            [pa.array(column, f.type) for column, f in zip(columns, fields, strict=True)], pa.schema(fields)
        )


class Running:
    """A mill with a stream that is kept, and one query that reads it in a host of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
        home = Home(folder / "home")
        self.definitions = Definitions(home, folder)
        self.engine = Engine(Place(folder), self.definitions)
        self.batch, self.landed, self.position, self._planned = 0, 0, 0, 0
        monkeypatch.setattr(ingress, "batch_number", lambda: self.batch)
        (bound,) = (bind(s, self.engine.catalog) for s in statements(STREAM))
        assert isinstance(bound, Define)
        assert isinstance(bound.definition, Stream)
        self.stream = bound.definition
        self.engine.catalog.add(self.stream)
        self.log = self.engine.readers.open(self.stream).log
        self.states = {bucket: SparkState() for bucket in BUCKETS}
        self._begin(self.ready("first", first))

    def ready(self, name: str, text: str) -> ReadyQuery:
        (bound,) = (bind(s, self.engine.catalog) for s in statements(f"CREATE QUERY {name} AS {text}"))
        assert isinstance(bound, Start)
        return ReadyQuery(self.engine.starter.prepare(bound.query), Manner(Settings(), print_rows))

    def _begin(self, one: ReadyQuery) -> None:
        """As a host starts, but for Spark."""
        engine, query = self.engine, one.prepared.query
        place = engine.home.host_place(engine.home.host_folder("s", 1))
        own = engine.home.member_place(one.name, one.prepared.record, place)
        starts = starts_of(query, own, [self.stream], engine.readers)
        found = engine.hosts.decisions.decide(query, one.prepared.plan, one.manner.settings, starts)
        assert found.plan is not None
        begin = begin_of(self.stream, starts)
        place.save("buckets", {str(n): bucket for n, bucket in enumerate(BUCKETS)})
        starts = start_of_host(place, "s", [begin.position])
        spark: Any = None
        here = Host(
            spark, engine.base, engine.home.log_of, place=place, history_of=engine.home.history_of, starts=starts
        )
        (state,) = states_from([(found.plan, begin)])
        boarding = MemberStart(one, found.plan, found.buckets, state, own, begin)
        pace = pace_of(one.manner.settings)
        self.host = HostQuery("host.s", here, Roster(place.folder), HostCounts(stream=self.stream), self._part, pace)
        ((member, shared),) = compile_members([Candidate(own.id, one.name, found.plan, state, begin)], here)
        assert self.host.roster.add(member, shared, 0)
        runs = engine.hosts.joiner.runs
        runs.board(boarding, member, runs.sink(boarding, self.host), self.host)
        handle: Any = SparkQuery()
        self.host._handle = handle
        engine.hosts.joiner.hosts.add(self.host)
        engine.queries.know(runs.running(boarding, self.host))

    def _part(self, *_: object) -> None:
        raise AssertionError("nobody leaves")

    def join(self, name: str, text: str) -> RunningQuery | None:
        joined = self.engine.hosts.joiner.join(self.ready(name, text))
        if isinstance(joined, Exception):
            raise joined
        return joined

    def land(self, seconds: range, promise: bool = False) -> None:
        """Rows of `v` seconds after the beginning, one a second, and perhaps a word on those that will follow."""
        schema = pa.schema([*arrow_schema(self.stream.landed_schema), *((name, pa.string()) for name in HIDDEN)])
        rows: list[dict[str, Any]] = [{"ts": n * 1_000_000, "k": "ab"[n % 2], "v": n % 10} for n in seconds]
        rows += [{"__mark": promise_mark(seconds.stop * 1_000_000)}] if promise else []
        writer = SegmentWriter(self.log.folder, schema)
        writer.add(pa.RecordBatch.from_pylist(rows, schema))
        times = [n * 1_000_000 for n in seconds]
        part = Part(0, "", 0, 0, 0, writer.name, 0, len(rows), len(seconds), 0, 0, min(times), max(times))
        writer.seal()
        self.log.land(self.landed, [part], 10**15 + self.landed)
        self.landed += 1

    def plan(self) -> None:
        """Spark writes down to where a batch reads, before its tasks start."""
        offsets = Path(self.host.roster.folder) / "checkpoint" / "offsets"
        offsets.mkdir(parents=True, exist_ok=True)
        self._planned = self.log.index.extent.end
        end = {"position": self._planned, "stream": "s"}
        (offsets / str(self.batch)).write_text(f"v1\n{{}}\n{json.dumps(end)}\n")

    def run(self) -> None:
        """The tasks of the batch that has been planned, and what is handed out of it."""
        folder = self.host.roster.folder
        ranges = pa.RecordBatch.from_pydict({"start": [self.position], "stop": [self._planned]})
        read = ingress.host_log_ingress(HostInlet(folder, BUCKETS, TimeLimits(), "ts"), self.log.folder)
        dealt: dict[int, list[Piece]] = {bucket: [] for bucket in BUCKETS}
        for batch in read(iter([ranges])):
            for row in batch.to_pylist():
                dealt[row["bucket"]].append(Piece(row["who"], row["kind"], row["payload"]))
        given: list[Piece] = []
        for bucket, pieces in dealt.items():
            state = BucketState("", 1, bucket, self.states[bucket], self.states[bucket])
            given += HostBucket(Bow(folder, str(folder), "start"), bucket, state).run(
                pieces, read_batch_members(folder, self.batch)
            )
        frame: Any = Frame(given)
        self.host.sink.write(frame, self.batch)
        commits = folder / "checkpoint" / "commits"
        commits.mkdir(exist_ok=True)
        (commits / str(self.batch)).touch()
        self.position, self.batch = self._planned, self.batch + 1

    def rows(self, name: str) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row.values()) for row in self.engine.queries.by_name[name].to_arrow().to_pylist())


Begun = Callable[[str], Running]


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begun]:
    mills: list[Running] = []

    def begin(first: str) -> Running:
        mills.append(Running(tmp_path, monkeypatch, first))
        return mills[-1]

    yield begin
    for mill in mills:
        mill.host.sink.close()
        mill.engine.home.close()


def sums(first: int, last: int) -> Counter[tuple[str, int]]:
    """The sums of the whole windows between two seconds."""
    windows = range(first, last, 10)
    return Counter(("ab"[k], sum(n % 10 for n in range(w, w + 10) if n % 2 == k)) for w in windows for k in (0, 1))


def test_who_joins_in_the_middle_of_a_batch_has_what_comes_then(begun: Begun) -> None:
    """What has landed and is still to be read by the host is no row of it; its windows are whole ones."""
    mill = begun(SUMS)
    mill.land(range(15))
    mill.plan()
    mill.run()
    mill.land(range(15, 23), promise=True)  # not read by the host when they come
    high, alike, last = (
        mill.join(n, f"{t} START AT NOW") for n, t in (("high", HIGH), ("alike", SUMS), ("last", LAST))
    )
    assert high is not None
    assert last is not None
    assert alike is not None
    assert isinstance(alike.handle, MemberHandle)
    assert alike.handle.host is mill.host
    twin = mill.join("twin", f"{SUMS} START AT NOW")
    assert twin is not None
    assert isinstance(twin.handle, MemberHandle)
    assert (
        twin.handle.running_member.member.state == alike.handle.running_member.member.state
    )  # nothing came in between
    assert alike.handle.running_member.member.state != mill.host.members[0].member.state
    mill.land(range(23, 41))
    mill.plan()
    mill.run()
    mill.land(range(41, 52))
    mill.plan()
    mill.run()
    assert mill.rows("first") == sums(0, 50)
    assert mill.rows("alike") == mill.rows("twin") == sums(30, 50)
    assert mill.rows("high") == Counter(("ab"[n % 2], n % 10) for n in range(23, 52) if n % 10 > 5)
    assert mill.rows("last") == Counter((n % 10, min((n - 23) // 2 + 1, 3)) for n in range(23, 51))
    told = {name: (host, shares) for name, host, _, shares in mill.engine.hosts.listing()}
    assert told["alike"] == ("host.s", "reads with first, high, last and twin; has one state with twin")


def test_a_batch_that_is_planned_just_then_is_not_for_it(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins once more behind that batch, and has its rows neither twice nor in part."""
    mill = begun(SUMS)
    mill.land(range(15))
    add, tries = Roster.add, []

    def late(self: Roster, *what: Any, **since: Any) -> bool:
        tries.append(since or what[2:])
        if len(tries) == 1:
            mill.land(range(15, 31))
            mill.plan()
        return add(self, *what, **since)

    monkeypatch.setattr(Roster, "add", late)
    assert mill.join("alike", f"{SUMS} START AT NOW") is not None
    assert len(tries) == 2
    mill.run()
    mill.land(range(31, 61))
    mill.plan()
    mill.run()
    assert mill.rows("first") == sums(0, 60)
    assert mill.rows("alike") == sums(40, 60)


def test_who_begins_earlier_joins_only_while_nothing_is_read(begun: Begun) -> None:
    mill = begun(SUMS)
    assert mill.join("high", HIGH) is not None  # the log is empty: both begin with its first row
    mill.land(range(15))
    assert mill.join("last", LAST) is not None  # nothing of it has been read
    mill.plan()
    assert mill.join("whole", SUMS) is None
    assert mill.join("since", f"{HIGH} START AT '1970-01-01T00:00:05'") is None
    mill.run()
    assert mill.rows("high") == Counter(("ab"[n % 2], n % 10) for n in range(15) if n % 10 > 5)
    assert not mill.engine.home.query_folder("whole").exists()


def test_who_fails_to_join_leaves_nothing(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    mill = begun(SUMS)

    def break_down(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(Home, "move_member", break_down)
        with pytest.raises(RunError, match="the disk is full"):
            mill.join("high", f"{HIGH} START AT NOW")
    assert not mill.engine.home.query_folder("high").exists()
    assert [one.member.name for one in mill.host.members] == ["first"]
    mill.land(range(15))
    mill.plan()
    assert [member.name for member in read_batch_members(mill.host.roster.folder, 0).members] == ["first"]
    mill.run()
    assert mill.rows("first") == sums(0, 10)


def test_who_is_killed_while_it_joins_begins_at_the_place_that_is_written_down(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entry is in the roster, and nothing says that it is a member: it is none."""
    mill = begun(SUMS)
    mill.land(range(15))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Home, "move_member", die)
    monkeypatch.setattr(Home, "undo", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        mill.join("high", f"{HIGH} START AT NOW")
    home, ready = mill.engine.home, mill.ready("high", f"{HIGH} START AT NOW")
    assert not home.has_begun("high")
    mill.land(range(15, 20))
    place = QueryPlace(home.query_folder("high"), "", fresh=True)
    assert starts_of(Query("high", ready.prepared.query.select, None, "", start=ready.prepared.query.start), place,
                     [mill.stream], mill.engine.readers)["s"].position == 15  # fmt: skip


def test_a_host_that_ends_is_joined_by_nobody(begun: Begun) -> None:
    mill = begun(SUMS)
    assert mill.join("other", "SELECT v FROM s WHERE v > 7 START AT NOW") is not None
    for one in mill.host.members:
        mill.host.leave(one, None, "", parts=False)
    assert mill.join("high", f"{HIGH} START AT NOW") is None
