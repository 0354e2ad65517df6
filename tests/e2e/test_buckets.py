"""In how many parts a query does its work, and how evenly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (k INT, v INT, ts TIMESTAMP) ORDER BY ts SOURCE 'csv:in';"
BY_KEY = "CREATE QUERY by_key AS SELECT k, sum(v) OVER (PARTITION BY k ROWS 1 PRECEDING) AS total FROM s;"


@pytest.fixture(autouse=True)
def rows(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [f"{n % 10},{n},2024-01-01T00:00:{n:02d}" for n in range(40)]
    (tmp_path / "in" / "a.csv").write_text("\n".join(["k,v,ts", *lines, ""]))


def shown(mill: Mill) -> list[dict[str, str]]:
    (answer,) = mill.execute("SHOW BUCKETS;")
    assert answer.table is not None
    found: list[dict[str, str]] = answer.table.to_pylist()
    return found


@pytest.mark.parametrize("count", [1, 3])
def test_a_query_has_as_many_buckets_as_are_wanted(run: Callable[[str], Mill], count: int) -> None:
    mill = run(f"{STREAM} SET buckets = {count}; {BY_KEY}")
    buckets = shown(mill)
    assert [(b["query"], b["stage"], b["bucket"]) for b in buckets] == [
        ("by_key", "1", str(n + 1)) for n in range(count)
    ]
    assert sum(int(b["rows"]) for b in buckets) == 40
    assert sum(float(b["share"]) for b in buckets) == pytest.approx(100, abs=0.2)
    assert sorted(mill.query("by_key").to_arrow()["total"].to_pylist()) == sorted(
        n + (n - 10 if n >= 10 else 0) for n in range(40)
    )


def test_without_keys_there_is_one_bucket_and_with_keys_one_for_each_core(run: Callable[[str], Mill]) -> None:
    one = "CREATE QUERY one AS SELECT count(*) [RANGE 10 SECONDS, WA ts] AS n FROM s;"
    mill = run(f"{STREAM} SET sharing = 'off'; {BY_KEY} {one}")
    found = shown(mill)
    partitions = int(str(mill.spark.conf.get("spark.sql.shuffle.partitions")))
    assert len([b for b in found if b["query"] == "by_key"]) == partitions
    assert [(b["stage"], b["bucket"], b["share"]) for b in found if b["query"] == "one"] == [("1", "1", "100.0")]


def said(mill: Mill, what: str) -> str:
    """What EXPLAIN says of the buckets."""
    (answer,) = mill.execute(f"EXPLAIN {what}")
    return next(line for line in str(answer.text).splitlines() if "bucket" in line).partition("; ")[2]


@pytest.mark.usefixtures("spark")
def test_explain_tells_the_number_that_a_query_has_and_why(tmp_path: Path) -> None:
    with connect(tmp_path / "ck", base=tmp_path, once=True) as mill:
        mill.execute(f"{STREAM} SET buckets = 3; {BY_KEY}")
        mill.wait()
        assert len(shown(mill)) == 3
        assert said(mill, "by_key") == "3 buckets by k, as in its checkpoint"
        select = BY_KEY.partition(" AS ")[2].rstrip(";")
        assert said(mill, select) == "3 buckets by k, as set"
        mill.execute("SET buckets = auto")
        partitions = int(str(mill.spark.conf.get("spark.sql.shuffle.partitions")))
        assert said(mill, select) == f"{partitions} buckets by k, one for each task of Spark"
    with connect(tmp_path / "ck", base=tmp_path, once=True) as mill:
        mill.execute(f"{STREAM} SET buckets = 1; {BY_KEY}")
        mill.wait()
        assert said(mill, "by_key") == "3 buckets by k, as in its checkpoint"
        mill.execute("DROP QUERY by_key")
        mill.execute(BY_KEY)
        mill.wait()
        assert said(mill, "by_key") == "one bucket by k, as in its checkpoint"
        assert len(shown(mill)) == 1


@pytest.mark.parametrize("count", [1, 2, 5])
def test_tables_have_as_many_as_are_set(mill: Mill, count: int) -> None:
    mill.execute(f"CREATE TABLE t (k INT, v INT, ts TIMESTAMP) SOURCE 'csv:in'; SET buckets = {count}")
    select = "SELECT k, sum(v) AS total FROM t GROUP BY k"
    number = "one bucket" if count == 1 else f"{count} buckets"
    assert said(mill, select) == f"{number} by k, as set; partial states of panes are exchanged"
    (answer, analysis) = mill.execute(f"{select}; EXPLAIN ANALYZE {select}")
    assert answer.table is not None
    assert sorted(answer.table["total"].to_pylist()) == [60 + 4 * k for k in range(10)]
    assert analysis.analysis is not None
    assert next(step["buckets"] for step in analysis.analysis.steps if "buckets" in step) == count
