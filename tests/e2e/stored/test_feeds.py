"""Streams without a source: queries and statements put rows into them, and queries read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import EslError, RunError
from millstream.mill import Mill, connect
from tests.e2e.stored.test_views import put, until

pytestmark = pytest.mark.spark

SCRIPT = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 2 SECONDS SOURCE 'csv:in';
    CREATE STREAM large (ts TIMESTAMP, k STRING, v BIGINT) ORDER BY ts SLACK 2 SECONDS;
    INSERT INTO large SELECT ts, k, v FROM s WHERE v > 4;
    INSERT INTO large (k, ts) SELECT 'small', ts FROM s WHERE v <= 4;
    CREATE QUERY counts AS SELECT k, window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n, sum(v) AS v
      FROM large GROUP BY k;
"""


def found(mill: Mill) -> list[tuple[str, int, int, int | None]]:
    rows = mill.query("counts").to_arrow().to_pylist()
    return sorted((r["k"], r["window_end"].second, r["n"], r["v"]) for r in rows)


def test_queries_feed_a_stream_that_others_read(mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, "0,a,1", "3,b,5", "12,a,6", "11,b,7", "25,a,2")
    mill.execute(SCRIPT)
    mill.wait()
    wanted = [("a", 20, 1, 6), ("b", 10, 1, 5), ("b", 20, 1, 7), ("small", 10, 1, None), ("small", 30, 1, None)]
    assert found(mill) == wanted


def test_statements_feed_a_stream_while_it_is_read(live_mill: Mill) -> None:
    live_mill.execute("""
        CREATE STREAM e (ts TIMESTAMP, k STRING) ORDER BY ts;
        CREATE QUERY counts AS SELECT k, window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n, 0 AS v FROM e GROUP BY k;
        INSERT INTO e VALUES (TIMESTAMP '2024-01-01 00:00:01', 'a'), (TIMESTAMP '2024-01-01 00:00:02', 'a');
    """)
    (answer,) = live_mill.execute("INSERT INTO e (ts) VALUES (TIMESTAMP '2024-01-01 00:00:09' + INTERVAL 2 SECONDS)")
    assert answer.message == "1 row inserted into e"
    until(lambda: found(live_mill) == [("a", 10, 2, 0)])
    live_mill.execute("DROP QUERY counts; DROP STREAM e;")
    assert not live_mill.home.feed_folder("e").exists()


def test_a_stream_that_is_fed_or_read_cannot_be_dropped_and_none_feeds_itself(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute(SCRIPT)
    with pytest.raises(EslError, match="large is still used by large, large_2, counts"):
        live_mill.execute("DROP STREAM large;")
    with pytest.raises(EslError, match="s is not a sink, and its rows come from elsewhere"):
        live_mill.execute("INSERT INTO s SELECT ts, k, 1 FROM large;")
    live_mill.execute("CREATE STREAM next (ts TIMESTAMP) ORDER BY ts; INSERT INTO next SELECT ts FROM large;")
    for text in ("INSERT INTO large (ts) SELECT ts FROM large;", "INSERT INTO large (ts) SELECT ts FROM next;"):
        with pytest.raises(EslError, match="large would feed itself"):
            live_mill.execute(text)


def test_a_stream_with_rows_keeps_its_columns(tmp_path: Path) -> None:
    """Rows that were put there with other columns would be read as NULL."""
    declared = "CREATE STREAM e (ts TIMESTAMP, k STRING) ORDER BY ts;"
    with connect(tmp_path / "home", base=tmp_path, once=True) as mill:
        mill.execute(declared + "INSERT INTO e VALUES (TIMESTAMP '2024-01-01 00:00:01', 'a')")
    with connect(tmp_path / "home", base=tmp_path, once=True) as mill:
        with pytest.raises(RunError, match="rows were put into e with the columns ts TIMESTAMP, k STRING, and it is"):
            mill.execute("CREATE STREAM e (ts TIMESTAMP, key STRING) ORDER BY ts")
        mill.execute(declared)
        mill.execute("DROP STREAM e; CREATE STREAM e (ts TIMESTAMP, key STRING) ORDER BY ts")
