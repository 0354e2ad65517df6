"""Queries that join the reading of a host that runs: they have what they have alone, and the others hear nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from millstream.mill import Mill, connect
from millstream.spark.hosts.host_query import MemberHandle

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts KEEP 1 DAY SOURCE 'csv:in';"
SUMS = "SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total, window_end FROM s GROUP BY k"
JOINS = {
    "alike": f"{SUMS} START AT NOW",
    "wide": """SELECT k, count(*) [RANGE 20 SECONDS, SLIDE 10 SECONDS, WA ts] AS n, window_start FROM s GROUP BY k
        START AT NOW""",
    "high": "SELECT k, v, ts FROM s WHERE v > 5 START AT NOW",
    "frames": "SELECT ts, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING) AS t FROM s START AT NOW",
}


def put(folder: Path, name: str, seconds: range) -> None:
    lines = [f"2024-01-01T00:{n // 60:02d}:{n % 60:02d},{'ab'[n % 2]},{n % 10}" for n in seconds]
    (folder / "in").mkdir(exist_ok=True)
    hidden = folder / "in" / f".{name}"
    hidden.write_text("\n".join(["ts,k,v", *lines, ""]))
    hidden.rename(folder / "in" / f"{name}.csv")


def rows(mill: Mill, name: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in mill.query(name).to_arrow().to_pylist())


def sums(seconds: range) -> Counter[tuple[str, int]]:
    """The sums of windows of ten seconds."""
    found = [
        ("ab"[key], sum(n % 10 for n in range(first, first + 10) if n % 2 == key))
        for first in range(seconds.start, seconds.stop, 10)
        for key in (0, 1)
    ]
    return Counter(found)


def totals(mill: Mill, name: str) -> Counter[tuple[object, ...]]:
    return Counter((row["k"], row["total"]) for row in mill.query(name).to_arrow().to_pylist())


def sharing(mill: Mill) -> list[dict[str, str]]:
    table = mill.execute("SHOW SHARING")[0].table
    assert table is not None
    return list(table.to_pylist())


def told(mill: Mill) -> dict[str, tuple[str | None, str]]:
    return {row["query"]: (row["host"], row["shares"]) for row in sharing(mill)}


def test_who_joins_has_what_it_has_alone(tmp_path: Path) -> None:
    put(tmp_path, "a", range(35))
    with connect(tmp_path / "home", base=tmp_path, master="local[2]") as mill:
        mill.execute(f"{STREAM} CREATE QUERY first AS {SUMS}")
        mill.query("first").process_available()
        assert told(mill) == {"first": ("host.s", "reads alone so far")}
        first = mill.query("first").handle
        assert isinstance(first, MemberHandle)
        run = first.host.handle
        said = "with queries that are started together with it; with START AT NOW, it would join host.s"
        assert str(mill.execute(f"EXPLAIN {SUMS}")[0].text).endswith(said)
        mill.execute(";".join(f"CREATE QUERY {name} AS {text}" for name, text in JOINS.items()))
        mill.execute("SET sharing = off;" + ";".join(f"CREATE QUERY {n}_alone AS {text}" for n, text in JOINS.items()))
        mill.execute("SET sharing = auto; CREATE QUERY whole AS SELECT k, v FROM s WHERE v > 5")
        assert {name for name, (host, _) in told(mill).items() if host == "host.s"} == {"first", *JOINS}
        assert told(mill)["whole"] == (None, "no query reads s that was started with it, and host.s has read on")
        # What is equal and begins at one position has one state, beside that of the query from before.
        states = {row["query"]: row["state"] for row in sharing(mill)}
        assert states["alike"] != states["first"]
        put(tmp_path, "b", range(35, 62))
        mill.query("alike").process_available()
        mill.execute("STOP QUERY wide; CREATE QUERY again AS SELECT k, v, ts FROM s WHERE v > 5 START AT NOW")
        put(tmp_path, "c", range(62, 101))
        mill.execute("START QUERY wide")
        for query in mill.queries:
            query.process_available()
        assert mill.query("first").handle is first
        assert first.host.handle is run
        for name in JOINS:
            assert rows(mill, f"{name}_alone") == rows(mill, name), name
            assert rows(mill, name), name
        assert totals(mill, "first") == sums(range(100))
        assert totals(mill, "alike") == sums(range(40, 100))
        assert rows(mill, "again").total() == sum(n % 10 > 5 for n in range(62, 101))
        mill.execute("DROP QUERY first; DROP QUERY alike; DROP QUERY frames; DROP QUERY high")
        assert mill.query("again").is_active


def test_who_is_killed_before_its_first_batch_has_all_answers(tmp_path: Path) -> None:
    """One has joined, one has only its entry in the roster; both begin where the log ended then."""
    put(tmp_path, "a", range(35))
    (tmp_path / "killed.py").write_text(
        textwrap.dedent(f"""
        import os, signal
        from millstream.mill import connect
        from millstream.mill.home.home import Home
        mill = connect("home", base=".", master="local[2]")
        mill.execute({f"{STREAM} CREATE QUERY first AS {SUMS}"!r})
        mill.query("first").process_available()
        mill.execute({f"CREATE QUERY alike AS {JOINS['alike']}"!r})
        Home.move_member = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        mill.execute({f"CREATE QUERY high AS {JOINS['high']}"!r})
        """)
    )
    killed = subprocess.run([sys.executable, "killed.py"], check=False, cwd=tmp_path, timeout=120, env=dict(os.environ))
    assert killed.returncode == -signal.SIGKILL
    put(tmp_path, "b", range(35, 62))
    with connect(tmp_path / "home", base=tmp_path, master="local[2]", resumes=True) as mill:
        assert mill.resumed.problems == ()
        assert told(mill)["alike"][0] == told(mill)["first"][0] == "host.s"
        put(tmp_path, "c", range(62, 101))
        for query in mill.queries:
            query.process_available()
        assert totals(mill, "first") == sums(range(100))
        assert totals(mill, "alike") == sums(range(40, 100))
        names = {query.name for query in mill.queries}
        if "high" in names:
            assert rows(mill, "high").total() == sum(n % 10 > 5 for n in range(35, 101))
