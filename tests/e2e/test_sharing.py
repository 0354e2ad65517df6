"""Queries that share the reading of a stream: they come, go and fail without a word to the others."""

from __future__ import annotations

import shutil
import time
import uuid
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect
from millstream.spark.hosts.host_query import MemberHandle

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SOURCE 'csv:in';"
HIGH = "CREATE SINK high TO 'csv:out/high'; INSERT INTO high SELECT k, v FROM s WHERE v > 5;"
SUMS = """CREATE SINK sums TO 'parquet:out/sums';
    INSERT INTO sums SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total, window_end FROM s GROUP BY k;"""
WIDE = """CREATE SINK wide TO 'csv:out/wide.csv';
    INSERT INTO wide SELECT k, sum(v) [RANGE 20 SECONDS, SLIDE 10 SECONDS, WA ts] AS total FROM s GROUP BY k;"""


def rows(seconds: range) -> str:
    lines = [f"2024-01-01T00:{n // 60:02d}:{n % 60:02d},{'ab'[n % 2]},{n % 10}" for n in seconds]
    return "\n".join(["ts,k,v", *lines, ""])


def put(folder: Path, name: str, seconds: range) -> None:
    (folder / "in").mkdir(exist_ok=True)
    hidden = folder / "in" / f".{name}"
    hidden.write_text(rows(seconds))
    hidden.rename(folder / "in" / f"{name}.csv")


def lines(folder: Path) -> list[str]:
    files = sorted(folder.glob("*.csv")) if folder.is_dir() else [folder]
    return sorted(line for file in files for line in file.read_text().splitlines()[1:])


def totals(folder: Path) -> list[tuple[str, int]]:
    """What the sums have written."""
    return sorted((row["k"], row["total"]) for row in pq.read_table(folder / "out" / "sums").to_pylist())


def sums(seconds: range) -> list[tuple[str, int]]:
    """The sums of windows of ten seconds."""
    firsts = range(seconds.start, seconds.stop, 10)
    return sorted(
        ("ab"[key], sum(n % 10 for n in range(first, first + 10) if n % 2 == key)) for first in firsts for key in (0, 1)
    )


def begin(folder: Path, text: str, once: bool = True) -> Mill:
    mill = connect(folder / "home", base=folder, once=once, master="local[2]")
    mill.execute(text)
    return mill


def hosts(mill: Mill) -> dict[str, str | None]:
    """The host of each query."""
    return {row["query"]: row["host"] for row in mill.execute("SHOW SHARING")[0].table.to_pylist()}


def test_members_come_and_go_from_run_to_run(tmp_path: Path) -> None:
    """One that is there no more stays away, one that comes reads from the beginning, and the others go on."""
    put(tmp_path, "a", range(40))
    with begin(tmp_path, STREAM + HIGH + SUMS + WIDE) as mill:
        mill.wait()
        assert set(hosts(mill).values()) == {"host.s"}
    put(tmp_path, "b", range(40, 80))
    late = "CREATE SINK low TO 'csv:out/low'; INSERT INTO low SELECT k, v FROM s WHERE v < 2;"
    with begin(tmp_path, STREAM + HIGH + late + WIDE) as mill:
        mill.wait()
        assert hosts(mill) == {"high": "host.s", "low": None, "wide": "host.s"}
    assert lines(tmp_path / "out" / "high") == sorted(f"{'ab'[n % 2]},{n % 10}" for n in range(80) if n % 10 > 5)
    assert lines(tmp_path / "out" / "low") == sorted(f"{'ab'[n % 2]},{n % 10}" for n in range(80) if n % 10 < 2)
    # The end of the first run has closed the window that the second one begins in.
    assert len(lines(tmp_path / "out" / "wide.csv")) == 2 * (5 + 4)
    with begin(tmp_path, STREAM + HIGH + SUMS) as mill:
        mill.wait()
        assert hosts(mill) == {"high": "host.s", "sums": "host.s.2"}
    assert totals(tmp_path) == sums(range(80))


def test_a_member_that_fails_stops_nobody_else(tmp_path: Path) -> None:
    """A sink whose folder goes away, and an aggregate that fails, are the business of their queries alone."""
    put(tmp_path, "a", range(40))
    module = f"choking_{uuid.uuid4().hex[:8]}"
    failing = f"""CREATE AGGREGATE choke (x INT) : INT LANGUAGE PYTHON '{module}:Choke';
        CREATE QUERY choked AS SELECT k, choke(v) [RANGE 10 SECONDS, WA ts] AS c FROM s GROUP BY k;"""
    (tmp_path / f"{module}.py").write_text(
        "class Choke:\n"
        "    def zero(self): return 0\n"
        "    def reduce(self, state, x: int): raise ValueError('it chokes')\n"
        "    def merge(self, a, b): return a + b\n"
        "    def finish(self, state) -> int: return state\n"
    )
    with begin(tmp_path, STREAM + HIGH + SUMS + failing, once=False) as mill:
        mill.query("high").process_available()
        assert "it chokes" in str(mill.query("choked").failure)
        assert mill.query("choked").state == "failed"
        shutil.rmtree(tmp_path / "out" / "high")
        put(tmp_path, "b", range(40, 80))
        mill.query("sums").process_available()
        assert "high" in str(mill.query("high").failure)
        assert mill.query("sums").state == "running"
        assert mill.query("sums").counts.rows_out == 2 * 7
        with pytest.raises(RunError, match="out/high"):
            mill.restart("high")
        mill.query("sums").process_available()
        assert hosts(mill)["sums"] == "host.s"


def test_one_that_is_dropped_is_forgotten_and_the_others_go_on(tmp_path: Path) -> None:
    put(tmp_path, "a", range(40))
    with begin(tmp_path, STREAM + HIGH + SUMS + WIDE, once=False) as mill:
        mill.query("sums").process_available()
        host = mill.query("sums").handle
        assert isinstance(host, MemberHandle)
        mill.execute("DROP QUERY sums")
        put(tmp_path, "b", range(40, 80))
        mill.query("high").process_available()
        mill.query("high").stop()
        assert mill.query("wide").is_active
        mill.execute("DROP QUERY wide; DROP QUERY high")
        assert not mill.queries
        assert not host.host.handle.isActive
        assert not host.host.roster.folder.exists()
        mill.execute("INSERT INTO wide SELECT k, v AS total FROM s WHERE v = 3")  # the name is free
        mill.query("wide").process_available()
    assert len(lines(tmp_path / "out" / "high")) == 8 * 4


def test_a_mill_that_is_closed_stops_all_members_at_one_point(tmp_path: Path) -> None:
    put(tmp_path, "a", range(40))
    with begin(tmp_path, STREAM + HIGH + SUMS, once=False) as mill:
        while not mill.query("high").counts.batches:
            time.sleep(0.02)
    put(tmp_path, "b", range(40, 80))
    with begin(tmp_path, STREAM + HIGH + SUMS) as mill:
        mill.wait()
        assert hosts(mill) == {"high": "host.s", "sums": "host.s"}
    assert len(lines(tmp_path / "out" / "high")) == 8 * 4


def test_who_runs_by_itself_and_why(mill: Mill, tmp_path: Path) -> None:
    put(tmp_path, "a", range(20))
    mill.execute(STREAM)
    mill.execute(
        """CREATE QUERY a AS SELECT k FROM s WHERE v > 5; CREATE QUERY b AS SELECT v FROM s WHERE k = 'a';
        CREATE QUERY every AS SELECT k, v FROM s;
        CREATE QUERY pairs AS SELECT x.v, y.v AS w FROM s AS x [RANGE 1 SECOND] JOIN s AS y ON x.k = y.k;"""
    )
    kept = "CREATE STREAM k (ts TIMESTAMP, v INT) ORDER BY ts KEEP 1 DAY SOURCE 'csv:in';"
    mill.execute(f"{kept} CREATE QUERY d AS SELECT v FROM k WHERE v > 5; CREATE QUERY e AS SELECT v FROM k WHERE v < 5")
    mill.execute("SET sharing = off; CREATE QUERY c AS SELECT k FROM s WHERE v > 5;")
    told = {row["query"]: row["shares"] for row in mill.execute("SHOW SHARING")[0].table.to_pylist()}
    assert told == {
        "a": "reads with b",
        "b": "reads with a",
        "every": "every tuple passes it: its rows are written by several tasks at once",
        "pairs": "it does not read one stream, once",
        "d": "reads with e",
        "e": "reads with d",
        "c": "SET sharing = off says so",
    }
    assert str(mill.execute("EXPLAIN a")[0].text).endswith("host.s: reads with b")
    assert str(mill.execute("EXPLAIN every")[0].text).endswith("runs by itself: " + told["every"])
    mill.wait()


def test_filters_that_differ_in_constants_are_looked_up_together(tmp_path: Path) -> None:
    put(tmp_path, "a", range(40))
    filters = "".join(f"CREATE QUERY f{n} AS SELECT v * {n} AS w FROM s WHERE k = 'a' AND v = {n};" for n in range(9))
    with begin(tmp_path, STREAM + filters + "CREATE QUERY other AS SELECT k FROM s WHERE v > 5;") as mill:
        mill.wait()
        told = {row["query"]: row["shares"] for row in mill.execute("SHOW SHARING")[0].table.to_pylist()}
        assert told["f0"] == (
            "reads with f1, f2, f3, f4, f5 and 4 others; its condition is looked up with that of "
            "f1, f2, f3, f4, f5 and 3 others, in a table of their constants"
        )
        assert "looked up" not in told["other"]
        assert [mill.query(f"f{n}").to_arrow()["w"].to_pylist() for n in range(9)] == [
            [n * n] * 4 if n % 2 == 0 else [] for n in range(9)
        ]


def test_a_member_is_stopped_and_started_and_misses_nothing(tmp_path: Path) -> None:
    """It parts from the others, which do not even start again; what they read meanwhile it reads by itself."""
    put(tmp_path, "a", range(35))
    with begin(tmp_path, STREAM + HIGH + SUMS + WIDE, once=False) as mill:
        mill.query("sums").process_available()
        others = mill.query("high").handle
        mill.execute("STOP QUERY sums")
        put(tmp_path, "b", range(35, 70))
        mill.query("high").process_available()
        assert mill.query("high").handle is others
        assert totals(tmp_path) == sums(range(30))
        mill.execute("START QUERY sums")
        put(tmp_path, "c", range(70, 101))
        for name in ("sums", "high", "wide"):
            mill.query(name).process_available()
        assert hosts(mill) == {"high": "host.s", "wide": "host.s", "sums": "host.s.2"}
        assert totals(tmp_path) == sums(range(100))
        assert len(lines(tmp_path / "out" / "high")) == 10 * 4
        mill.execute("DROP QUERY sums")
        assert not (tmp_path / "home" / "hosts" / "s" / "2").exists()
        assert mill.query("high").is_active


def test_a_mill_resumes_its_hosts(tmp_path: Path) -> None:
    """Members go on together; one that was stopped stays so, and is where it was when it is started."""
    put(tmp_path, "a", range(35))
    with begin(tmp_path, STREAM + HIGH + SUMS + WIDE, once=False) as mill:
        mill.query("sums").process_available()
        mill.execute("STOP QUERY sums")
    put(tmp_path, "b", range(35, 81))
    with connect(tmp_path / "home", base=tmp_path, master="local[2]", resumes=True) as mill:
        assert mill.resumed.problems == ()
        assert hosts(mill) == {"high": "host.s", "wide": "host.s"}
        mill.query("high").process_available()
        mill.execute("START QUERY sums")
        mill.query("sums").process_available()
    assert len(lines(tmp_path / "out" / "high")) == 8 * 4
    assert totals(tmp_path) == sums(range(80))


def test_members_are_altered_and_renamed_within_their_host(tmp_path: Path) -> None:
    """Its members stop and start together, and nobody misses a row."""
    put(tmp_path, "a", range(35))
    with begin(tmp_path, STREAM + HIGH + SUMS + WIDE, once=False) as mill:
        mill.query("sums").process_available()
        said = mill.execute("ALTER QUERY high AS SELECT k, v FROM s WHERE v > 7")[0].message
        assert "it goes on from where it was; sums, wide started again" in said
        put(tmp_path, "b", range(35, 70))
        mill.query("high").process_available()
        mill.execute("ALTER QUERY sums RENAME TO totals; ALTER STREAM s RENAME TO t")
        put(tmp_path, "c", range(70, 101))
        for name in ("totals", "high"):
            mill.query(name).process_available()
        assert set(hosts(mill)) == {"high", "totals", "wide"}
        assert len(set(hosts(mill).values())) == 1
        with pytest.raises(RunError, match="has begun in a host, and could not go on there"):
            mill.execute("ALTER QUERY high AS SELECT k, v FROM t")
        assert all(query.is_active for query in mill.queries)
        mill.execute("ALTER QUERY high AS SELECT k, v FROM t WHERE v > 8 STARTING NOW")
        assert hosts(mill)["high"] is None
        put(tmp_path, "d", range(101, 111))
        for name in ("totals", "high"):
            mill.query(name).process_available()
    assert totals(tmp_path) == sums(range(110))
    expected = [n for n in range(110) if n % 10 > (5 if n < 35 else 7 if n < 101 else 8)]
    assert lines(tmp_path / "out" / "high") == sorted(f"{'ab'[n % 2]},{n % 10}" for n in expected)
