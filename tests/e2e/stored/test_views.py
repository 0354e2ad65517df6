"""Views: the newest answer for each key, read at once, joined, followed, and kept across restarts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

SCRIPT = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 2 SECONDS
      SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
    CREATE VIEW totals KEY (k) AS
      SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total FROM s GROUP BY k;
"""
LINES = ["0,a,1", "3,b,2", "12,a,5", "11,b,7", "25,a,9"]


def put(folder: Path, number: int, *lines: str) -> None:
    folder.mkdir(exist_ok=True)
    rows = [line.split(",", 1) for line in lines]
    text = "ts,k,v\n" + "".join(f"2024-01-01T00:00:{int(second):02d},{rest}\n" for second, rest in rows)
    (folder / f".{number}").write_text(text)
    (folder / f".{number}").rename(folder / f"{number}.csv")


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it did not come"
        time.sleep(0.05)


def rows(mill: Mill, select: str) -> list[dict[str, object]]:
    (answer,) = mill.execute(select)
    assert answer.table is not None
    return sorted(answer.table.to_pylist(), key=str)


def test_a_view_is_read_joined_followed_and_kept(tmp_path: Path, spark: object) -> None:
    put(tmp_path / "in", 0, *LINES)
    with connect(tmp_path / "ck", base=tmp_path, master="local[2]") as mill:
        mill.execute(SCRIPT)
        view = mill.query("totals")
        until(lambda: view.to_arrow().num_rows == 2 and {"k": "b", "total": 7} in view.to_arrow().to_pylist())
        # That of the window that ended last, though only the sums and the keys are selected.
        assert rows(mill, "SELECT * FROM totals") == [{"k": "a", "total": 5}, {"k": "b", "total": 7}]
        assert rows(mill, "SELECT total * 2 AS twice FROM totals WHERE k = 'b'") == [{"twice": 14}]
        assert rows(mill, "SELECT max(total) AS most FROM totals") == [{"most": 7}]  # by way of Spark
        here, spark_ = mill.execute(
            "EXPLAIN SELECT k FROM totals WHERE total > 5; EXPLAIN SELECT upper(max(k)) FROM totals;"
        )
        assert "answered here, from the rows in memory" in (here.text or "")
        assert "Spark answers: " in (spark_.text or "")
        plans = mill.execute("EXPLAIN SELECT k FROM totals WHERE total > 5; EXPLAIN SELECT max(k) AS m FROM totals;")
        assert "answered here, from the rows in memory" in (plans[0].text or "")
        assert "Spark answers: " in (plans[1].text or "")
        subscription = view.subscribe(timeout=0)
        assert sorted(r["op"] for t in subscription for r in t.to_pylist()) == ["insert", "insert"]
        position = subscription.position
        (shown,) = mill.execute("SHOW VIEWS")
        assert shown.table is not None
        assert shown.table.to_pylist()[0]["key"] == "k"
    put(tmp_path / "in", 2, "40,b,3")
    with connect(tmp_path / "ck", base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute(SCRIPT)
        mill.wait()
        view = mill.query("totals")
        assert rows(mill, "SELECT * FROM totals") == [{"k": "a", "total": 9}, {"k": "b", "total": 3}]
        changes = [r for t in view.subscribe(after=str(position)) for r in t.to_pylist()]
        assert {(r["op"], r["k"]) for r in changes} == {("update", "a"), ("update", "b")}
        assert [a.message for a in mill.execute("DROP VIEW totals")] == ["dropped view totals"]
        assert not (tmp_path / "ck" / "queries" / "totals").exists()


def test_streams_that_join_a_view_see_it_from_the_next_batch_on(live_mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, "0,a,1")
    (tmp_path / "asks").mkdir()
    live_mill.execute("""
        CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SOURCE 'csv:in';
        CREATE STREAM ask (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SOURCE 'csv:asks';
        CREATE VIEW latest KEY (k) AS SELECT k, v FROM s;
        CREATE QUERY answers AS SELECT ask.v AS ask, latest.v FROM ask LEFT JOIN latest ON ask.k = latest.k;
    """)
    view, answers = live_mill.query("latest"), live_mill.query("answers")
    until(lambda: view.to_arrow().num_rows == 1)
    time.sleep(1)
    put(tmp_path / "asks", 0, "0,a,0", "0,b,0")
    until(lambda: answers.to_arrow().num_rows == 2)
    for number in (1, 2):
        put(tmp_path / "in", number, f"{number},a,{number * 10}", f"{number},b,{number * 10}")
        until(lambda: view.to_arrow()["v"].to_pylist() == [number * 10] * 2)  # noqa: B023
        time.sleep(1)
        put(tmp_path / "asks", number, f"{number},a,{number}", f"{number},b,{number}")
        until(lambda: answers.to_arrow().num_rows == 2 + 2 * number)  # noqa: B023
    found = sorted((r["ask"], r["v"] or 0) for r in answers.to_arrow().to_pylist())
    assert found == [(0, 0), (0, 1), (1, 10), (1, 10), (2, 20), (2, 20)]


def test_results_outlive_a_run_and_go_on(tmp_path: Path, spark: object) -> None:
    seen: list[int] = []
    position = None
    for run in range(2):
        put(tmp_path / "in", run, f"{run},a,{run}", f"{run},b,{run + 10}")
        with connect(tmp_path / "ck", base=tmp_path, once=True, master="local[2]") as mill:
            mill.execute("""
                CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SOURCE 'csv:in';
                CREATE QUERY q AS SELECT v FROM s;
            """)
            query = mill.query("q")
            query.wait()
            subscription = query.subscribe(after=position if run else None)
            seen += [r["v"] for t in subscription for r in t.to_pylist()]
            position = str(subscription.position)
            assert position.startswith(f"{run}.1.")
            assert query.to_arrow()["v"].to_pylist() == seen
            with pytest.raises(RunError, match="no row at position 7"):
                query.subscribe(after=f"7.0.{position[-8:]}")
            with pytest.raises(RunError, match=r"position 0.0.0+ is of another query, or of an earlier one"):
                query.subscribe(after="0.0.00000000")
    assert seen == [0, 10, 1, 11]
