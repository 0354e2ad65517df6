"""Streams joined with tables that change, are slow, or fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill import Mill

pytestmark = pytest.mark.spark

STREAM = """
    CREATE STREAM s (ts TIMESTAMP, k INT) ORDER BY ts SOURCE 'csv:in';
    CREATE TABLE names (k INT, name STRING) SOURCE '{kind}:names';
"""


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it did not come"
        time.sleep(0.05)


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_table_that_changes_is_seen_from_the_next_batch_on(live_mill: Mill, tmp_path: Path, kind: str) -> None:
    (tmp_path / "in").mkdir()
    rows = {"csv": "k,name\n{k},{n}\n", "json": '{{"k": {k}, "name": "{n}"}}\n'}[kind]
    put(tmp_path / "names", f"0.{kind}", rows.format(k=1, n="one"))
    live_mill.execute(
        STREAM.format(kind=kind) + "CREATE QUERY q AS SELECT s.k, name FROM s LEFT JOIN names AS n ON s.k = n.k;"
    )
    query = live_mill.query("q")
    put(tmp_path / "in", "0.csv", "ts,k\n2024-01-01T00:00:00,1\n2024-01-01T00:00:00,2\n")
    until(lambda: query.to_arrow().num_rows == 2)
    put(tmp_path / "names", f"1.{kind}", rows.format(k=2, n="two"))
    time.sleep(1)
    put(tmp_path / "in", "1.csv", "ts,k\n2024-01-01T00:00:01,2\n")
    until(lambda: query.to_arrow().num_rows == 3)
    assert sorted((r["k"], r["name"] or "") for r in query.to_arrow().to_pylist()) == [(1, "one"), (2, ""), (2, "two")]


def test_a_table_that_fails_stops_its_query_and_no_other(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    put(tmp_path / "names", "0.csv", "k,name\n1,one\n")
    live_mill.execute(
        STREAM.format(kind="csv")
        + "CREATE QUERY joined AS SELECT s.k, name FROM s JOIN names AS n ON s.k = n.k;"
        + "CREATE QUERY other AS SELECT k FROM s;"
    )
    put(tmp_path / "in", "0.csv", "ts,k\n2024-01-01T00:00:00,1\n")
    until(lambda: all(live_mill.query(n).to_arrow().num_rows == 1 for n in ("joined", "other")))
    put(tmp_path / "names", "1.csv", "k,name\nnonsense,two\n")
    time.sleep(1)
    put(tmp_path / "in", "1.csv", "ts,k\n2024-01-01T00:00:01,1\n")
    with pytest.raises(RunError, match=r"query joined failed: .*nonsense"):
        live_mill.query("joined").wait(60)
    until(lambda: live_mill.query("other").to_arrow().num_rows == 2)
    assert live_mill.query("other").is_active


def test_a_table_without_rows_has_one_answer(mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "names", "0.csv", "k,name\n")
    put(tmp_path / "in", "0.csv", "ts,k\n")
    mill.execute(STREAM.format(kind="csv"))
    found = mill.execute("SELECT count(*) AS n, max(name) AS last, sum(k) AS total FROM names")[0].table
    assert found is not None
    assert found.to_pylist() == [{"n": 0, "last": None, "total": None}]
    put(tmp_path / "names", "1.csv", "k,name\n4,four\n5,five\n")
    found = mill.execute("SELECT count(*) AS n, max(name) AS last FROM names WHERE k > 3 HAVING count(*) > 1")[0].table
    assert found is not None
    assert found.to_pylist() == [{"n": 2, "last": "four"}]
    found = mill.execute("SELECT k, count(*) AS n FROM names WHERE k > 9 GROUP BY k")[0].table
    assert found is not None
    assert found.to_pylist() == []
