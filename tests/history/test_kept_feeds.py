"""Streams that queries feed, and that are kept: the rows are landed once, with what is known of their progress."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.mill import Mill, connect
from tests.e2e.stored.test_views import put, until

pytestmark = pytest.mark.spark

SCRIPT = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 2 SECONDS SOURCE 'csv:in';
    CREATE STREAM large (ts TIMESTAMP, k STRING NOT NULL, v INT) ORDER BY ts KEEP ALL;
    INSERT INTO large SELECT ts, k, v FROM s WHERE v > 4;
"""
COUNTS = "SELECT window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n FROM large"


def windows(mill: Mill, name: str) -> list[tuple[int, int]]:
    return sorted((r["window_end"].second, r["n"]) for r in mill.query(name).to_arrow().to_pylist())


def test_history_then_live_over_restarts(tmp_path: Path, spark: object) -> None:
    put(tmp_path / "in", 0, "1,a,5", "3,b,6", "12,a,7", "14,a,1")
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute(SCRIPT)
        answers = mill.execute(
            "SELECT v FROM large SINCE EARLIEST ORDER BY v;"
            "SELECT v FROM large SINCE '2024-01-01T00:00:02' UNTIL '2024-01-01T00:00:10';"
            "CREATE TABLE part AS SELECT v FROM large SINCE EARLIEST;"
        )
        assert [a.table["v"].to_pylist() for a in answers[:2] if a.table is not None] == [[5, 6, 7], [6]]
    put(tmp_path / "in", 1, "13,b,8", "22,b,9", "41,a,0")
    with connect(tmp_path / "home", base=tmp_path, master="local[2]") as mill:
        mill.execute(SCRIPT + f"CREATE QUERY all_of_it AS {COUNTS};")
        mill.execute(f"CREATE QUERY since AS {COUNTS} START AT '2024-01-01T00:00:10';")
        # The row that is left out tells how far the stream has come: all windows are closed.
        until(lambda: windows(mill, "all_of_it") == [(10, 2), (20, 2), (30, 1)])
        until(lambda: windows(mill, "since") == [(20, 2), (30, 1)])
        (shown,) = mill.execute("SHOW STREAMS")
        assert shown.table is not None
        assert "all: 5 rows" in str(shown.table["keeps"].to_pylist())
        rows = mill.home.feed_folder("large")
        until(lambda: len(list(rows.glob("*.parquet"))) == 1)  # what has been landed is let go of, but for the last
        mill.execute("INSERT INTO large VALUES (TIMESTAMP '2024-01-01 00:00:45', 'c', 50);")
        count = "SELECT count(*) AS n FROM large SINCE EARLIEST"
        until(lambda: [a.table["n"].to_pylist() for a in mill.execute(count) if a.table is not None] == [[6]])
        mill.execute("DROP QUERY all_of_it; DROP QUERY since; DROP QUERY large; DROP STREAM large;")
        assert not mill.home.stream_folder("large").exists()


def test_a_stream_as_the_way_out_of_keeping_a_derived_one(mill: Mill, tmp_path: Path) -> None:
    """What the error about KEEP on a derived stream says."""
    put(tmp_path / "in", 0, "1,a,5", "3,b,6")
    mill.execute("""
        CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 2 SECONDS SOURCE 'csv:in';
        CREATE STREAM d (ts TIMESTAMP, twice INT) ORDER BY ts KEEP 2 HOURS;
        INSERT INTO d SELECT ts, v * 2 AS twice FROM s;
        CREATE QUERY of_d AS SELECT twice FROM d;
    """)
    mill.wait()
    assert sorted(mill.query("of_d").to_arrow()["twice"].to_pylist()) == [10, 12]
