"""Rows that run ahead of the clock, on Spark: one row of the year 2099 must not make every later row late."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millstream.mill import Mill

pytestmark = pytest.mark.spark

COLUMNS = "(ts TIMESTAMP, k STRING)"
WINDOW = "count(*) [RANGE 1 MINUTE, WA ts] AS n"
FAR = "2099-01-01T00:00:00"


def put(folder: Path, number: int, *rows: str) -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{number}"
    hidden.write_text("ts,k\n" + "".join(f"{row}\n" for row in rows))
    os.utime(hidden, (1e9 + number, 1e9 + number))
    hidden.rename(folder / f"{number}.csv")


def test_a_stream_that_is_read_live(live_mill: Mill, tmp_path: Path) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(hours=20)).replace(tzinfo=None).isoformat()
    put(tmp_path / "in", 0, "2026-01-01T00:00:01,a", f"{FAR},far", "+100000-01-01T00:00:00,further")
    live_mill.execute(f"""
        CREATE STREAM s {COLUMNS} ORDER BY ts SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
        CREATE STREAM w {COLUMNS} ORDER BY ts AHEAD 1 DAY WAIT SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
        CREATE STREAM u {COLUMNS} ORDER BY ts AHEAD UNBOUNDED SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
        CREATE QUERY counted AS SELECT k, {WINDOW} FROM s WHERE k <> 'x' GROUP BY k;
        CREATE QUERY passed AS SELECT k FROM s;
        CREATE QUERY rejected AS SELECT raw, reason FROM s.REJECTED;
        CREATE QUERY waited AS SELECT k, {WINDOW} FROM w GROUP BY k;
        CREATE QUERY moved AS SELECT k, {WINDOW} FROM u GROUP BY k;""")
    for query in live_mill.queries:
        query.process_available()
    put(tmp_path / "in", 1, "2026-01-01T00:00:02,a", "2026-01-01T00:01:00,b", f"{FAR},x")
    put(tmp_path / "in", 2, f"{tomorrow},c", "2026-01-01T00:00:03,late")
    for query in live_mill.queries:
        query.process_available()

    def answers(name: str) -> list[tuple[object, ...]]:
        return sorted(tuple(row.values()) for row in live_mill.query(name).to_arrow().to_pylist())

    assert answers("counted") == [("a", 2), ("b", 1)]
    assert answers("passed") == [("a",), ("a",), ("b",), ("c",), ("late",)]
    assert answers("waited") == [("a", 2), ("b", 1)]
    # Without a bound, as it was: the first row of the year 2099 ended all that was to come.
    assert answers("moved") == [("a", 1)]
    known = ("further", "far", "x")
    reasons = {next(k for k in known if str(raw).rstrip('"}').endswith(k)): why for raw, why in answers("rejected")}
    ahead = f"ts: {FAR} is more than 1 day ahead of the clock"
    assert reasons.keys() == set(known)
    assert reasons["far"] == reasons["x"] == ahead
    counts = {query.name: query.counts for query in live_mill.queries}
    for query in live_mill.queries:
        query.stop()
    assert {name: one.rejected for name, one in counts.items() if name != "rejected"} == {
        "counted": {"s": 3},
        "passed": {"s": 3},
        "waited": {"w": 1},
        "moved": {"u": 1},
    }
    assert counts["counted"].late == {"s": 1}
    assert counts["moved"].late == {"u": 4}
    assert counts["moved"].leaps["u"].to == counts["moved"].newest["u"] == 4_070_908_800_000_000
    shown = live_mill.execute("SHOW QUERIES")[0].table
    assert shown is not None
    late = dict(zip(shown["query"].to_pylist(), shown["late"].to_pylist(), strict=True))
    assert late["moved"] == "4"
    assert dict(zip(shown["query"].to_pylist(), shown["moved most by"].to_pylist(), strict=True))["moved"] == f"u {FAR}"


def test_what_was_recorded_is_not_judged_by_the_clock(mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, f"{FAR},a", "9999-12-31T23:59:59,b", "0001-01-01T00:00:00,c", "+10000-01-01T00:00:00,d")
    mill.execute(f"""
        CREATE STREAM s {COLUMNS} ORDER BY ts SOURCE 'csv:in';
        CREATE STREAM d {COLUMNS} ORDER BY ts AHEAD 1 HOUR REJECT SOURCE 'csv:in';
        CREATE QUERY counted AS
          SELECT k, window_end, count(*) [RANGE ALL, SLIDE 1 MINUTE, WA ts] AS n FROM s GROUP BY k;
        CREATE QUERY bounded AS SELECT k FROM d;""")
    mill.wait()
    found = mill.query("counted")
    assert found.counts.rejected == {"s": 0}
    assert found.to_arrow().num_rows == 10
    assert found.to_pandas()["window_end"].max().year == 10000
    assert mill.query("bounded").to_arrow().to_pylist() == [{"k": "c"}]
