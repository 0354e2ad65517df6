"""Streams without a source: queries and statements put rows into them, and queries read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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


WINDOWS = "SELECT k, window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n, sum(v) AS v FROM {} GROUP BY k"
FAR_APART = f"""
    CREATE STREAM a (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 2 SECONDS SOURCE 'csv:a';
    CREATE STREAM b (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 2 SECONDS SOURCE 'csv:b';
    CREATE STREAM both (ts TIMESTAMP, k STRING, v INT) ORDER BY ts;
    INSERT INTO both SELECT ts, k, v FROM a WHERE v < 100;
    INSERT INTO both SELECT ts, k, v FROM b;
    CREATE QUERY counts AS {WINDOWS.format("both")};
    CREATE STREAM derived AS SELECT ts, k, v FROM a WHERE v < 100 UNION ALL SELECT ts, k, v FROM b;
    CREATE QUERY of_derived AS {WINDOWS.format("derived")};
    CREATE STREAM ends (at TIMESTAMP, n BIGINT) ORDER BY at;
    INSERT INTO ends SELECT window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n FROM a;
    CREATE QUERY of_ends AS SELECT window_end, sum(n) [RANGE 20 SECONDS, WA at] AS n FROM ends;
"""


def test_a_fed_stream_goes_by_the_slowest_query_that_feeds_it(live_mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "a", 0, "1,a,1", "4,a,2", "15,a,3", "41,a,100")  # the last one is left out, and moves time
    (tmp_path / "b").mkdir()
    live_mill.execute(FAR_APART)
    # What a stage promises goes on, too: all windows of a that end by 39 have been answered.
    until(
        lambda: (
            [(r["window_end"].second, r["n"]) for r in live_mill.query("of_ends").to_arrow().to_pylist()] == [(20, 2)]
        )
    )
    live_mill.query("counts").process_available()
    assert found(live_mill) == []
    put(tmp_path / "b", 1, "3,b,1", "22,b,2")  # forty seconds behind the other, and not late
    until(lambda: len(found(live_mill)) == 3)
    put(tmp_path / "b", 2, "21,b,3", "38,b,4")
    wanted = [("a", 10, 2, 3), ("a", 20, 1, 3), ("b", 10, 1, 1), ("b", 30, 2, 5)]
    until(lambda: found(live_mill) == wanted)
    until(lambda: live_mill.query("of_derived").to_arrow().num_rows == len(wanted))
    assert not any(live_mill.query("counts").counts.late.values())
    live_mill.execute("STOP QUERY both_2; DROP QUERY both_2;")  # nobody waits for it any more
    put(tmp_path / "a", 3, "43,a,100")
    until(lambda: found(live_mill)[-1] == ("b", 40, 1, 4))
    (answer,) = live_mill.execute("ALTER QUERY both AS SELECT ts, upper(k) AS k, v FROM a WHERE v < 100;")
    assert "it goes on from where it was" in answer.message
    put(tmp_path / "a", 4, "44,a,7", "59,a,100")
    until(lambda: ("A", 50, 1, 7) in found(live_mill))


def test_silence_is_passed_on(live_mill: Mill, tmp_path: Path) -> None:
    """Who feeds a stream waits for nothing; those that read it do, and so time stamps for silent inputs are sent."""
    for name in "ab":
        (tmp_path / name).mkdir()
    live_mill.execute(FAR_APART.replace("SLACK 2 SECONDS SOURCE", "SLACK 2 SECONDS IDLE AFTER 1 SECOND SOURCE"))
    now = datetime.now(UTC)
    (tmp_path / "a" / "0.csv").write_text(f"ts,k,v\n{(now - timedelta(seconds=8)).isoformat()},a,1\n")
    until(lambda: live_mill.query("counts").to_arrow().num_rows == 1)
    assert live_mill.query("counts").to_arrow()["n"].to_pylist() == [1]
