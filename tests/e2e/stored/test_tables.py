"""Stored tables: changed by statement, whole or not at all, and seen by queries from the next batch on."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect
from millstream.mill.stored.stored_rows import MANY_FILES
from tests.e2e.stored.test_views import put, rows, until

pytestmark = pytest.mark.spark

TABLE = "CREATE TABLE t (a INT NOT NULL, b STRING, c DOUBLE, d DECIMAL(6, 2), e TIMESTAMP, f ARRAY<INT>);"


def told(mill: Mill, text: str) -> list[str]:
    return [answer.message for answer in mill.execute(text)]


def test_rows_are_inserted_updated_and_deleted(mill: Mill) -> None:
    mill.execute(TABLE)
    assert told(
        mill,
        """
        INSERT INTO t VALUES (1, 'x', 0.1, 1.5, TIMESTAMP '2024-01-01 00:00:00', array(1, 2)),
          (2, NULL, 2, 3, NULL, NULL);
        INSERT INTO t (b, a) VALUES ('y', 2 + 1);
        INSERT INTO t SELECT a + 10, upper(b), c, d, e, f FROM t WHERE a < 3;
        UPDATE t SET c = c * 2, b = coalesce(b, 'none') WHERE a <> 1;
        DELETE FROM t WHERE b = 'x' OR c > 3;
    """,
    ) == [
        *("2 rows inserted into t", "1 row inserted into t", "2 rows inserted into t", "4 rows updated in t"),
        "3 rows deleted in t",
    ]
    assert rows(mill, "SELECT a, b, c, f FROM t") == [
        {"a": 11, "b": "X", "c": 0.2, "f": [1, 2]},
        {"a": 3, "b": "y", "c": None, "f": None},
    ]
    assert told(mill, "DELETE FROM t; INSERT INTO t VALUES (1, '', 1, 1, NULL, NULL);") == [
        "2 rows deleted in t",
        "1 row inserted into t",
    ]


def test_what_cannot_be_leaves_the_table_as_it_was(mill: Mill) -> None:
    mill.execute(f"{TABLE} INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y');")
    before = rows(mill, "SELECT * FROM t")
    for statement in (
        "INSERT INTO t (a) VALUES (3), (CAST('x' AS INT))",
        "INSERT INTO t (a) SELECT CAST(b AS INT) FROM t",
        "UPDATE t SET a = CAST(b AS INT) WHERE a = 2",
    ):
        with pytest.raises(RunError, match="table t stays as it was: a would be NULL in"):
            mill.execute(statement)
    with pytest.raises(RunError, match="boom"):
        mill.execute("UPDATE t SET b = CAST(raise_error('boom') AS STRING) WHERE a = 1")
    assert rows(mill, "SELECT * FROM t") == before


def test_tables_as_select_are_changed_and_go_with_drop(mill: Mill) -> None:
    mill.execute("CREATE TABLE n AS SELECT explode(sequence(1, 5)) AS i; DELETE FROM n WHERE i % 2 = 0;")
    mill.execute("UPDATE n SET i = -i WHERE i > 1; INSERT INTO n VALUES (9);")
    assert sorted(r["i"] for r in rows(mill, "SELECT i FROM n")) == [-5, -3, 1, 9]
    root = mill.home.table_folder("n")
    assert root.exists()
    mill.execute("DROP TABLE n;")
    assert not root.exists()


def test_many_small_inserts_are_few_files(mill: Mill) -> None:
    mill.execute("CREATE TABLE n (i INT);" + "".join(f"INSERT INTO n VALUES ({i});" for i in range(MANY_FILES + 5)))
    assert sorted(r["i"] for r in rows(mill, "SELECT i FROM n")) == list(range(MANY_FILES + 5))
    newest = max(mill.home.table_folder("n").glob("v*"))
    assert len(list(newest.iterdir())) < 10


def test_rows_outlive_a_run_and_other_columns_are_refused(tmp_path: Path, spark: object) -> None:
    with connect(tmp_path / "ck", base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute("CREATE TABLE n (i INT, s STRING); INSERT INTO n VALUES (1, 'a'), (2, 'b');")
    with connect(tmp_path / "ck", base=tmp_path, once=True, master="local[2]") as mill:
        assert told(mill, "CREATE TABLE n (i INT, s STRING);") == ["created table n, with 2 rows from before"]
        assert len(rows(mill, "SELECT * FROM n")) == 2
    with connect(tmp_path / "ck", base=tmp_path, once=True, master="local[2]") as mill:
        with pytest.raises(RunError, match="table n has rows from before with the columns i INT"):
            mill.execute("CREATE TABLE n (i DATE, s STRING);")
        with pytest.raises(RunError, match="table n has rows from before with the columns i INT"):
            mill.execute("CREATE TABLE n (j INT, s STRING);")


def test_queries_see_changes_from_the_next_batch_on(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute("""
        CREATE TABLE names (k STRING, name STRING);
        INSERT INTO names VALUES ('a', 'one');
        CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SOURCE 'csv:in';
        CREATE QUERY q AS SELECT v, name FROM s LEFT JOIN names ON s.k = names.k;
    """)
    query = live_mill.query("q")
    changes = [
        "INSERT INTO names VALUES ('b', 'two')",
        "UPDATE names SET name = 'three' WHERE k = 'b'",
        "DELETE FROM names",
    ]
    for number, change in enumerate(changes):
        put(tmp_path / "in", number, f"{number},b,{number}")
        until(lambda: query.to_arrow().num_rows == number + 1)  # noqa: B023
        live_mill.execute(change)
        time.sleep(1)
    put(tmp_path / "in", 3, "3,b,3")
    until(lambda: query.to_arrow().num_rows == 4)
    found = {r["v"]: r["name"] for r in query.to_arrow().to_pylist()}
    assert found == {0: None, 1: "two", 2: "three", 3: None}


def test_writers_in_threads_lose_nothing_and_readers_see_whole_statements(live_mill: Mill) -> None:
    live_mill.execute("CREATE TABLE n (i INT, j INT); INSERT INTO n VALUES (0, 0), (0, 0);")
    problems: list[BaseException] = []

    def work(text: str, times: int) -> None:
        try:
            for _ in range(times):
                live_mill.execute(text)
        except BaseException as problem:
            problems.append(problem)

    statements = {"INSERT INTO n VALUES (1, 0), (1, 0)": 8, "UPDATE n SET j = j + 1 WHERE i = 0": 3}
    threads = [threading.Thread(target=work, args=item) for item in statements.items()]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen = rows(live_mill, "SELECT i, j FROM n")
        assert len({r["j"] for r in seen if r["i"] == 0}) == 1
        assert len(seen) % 2 == 0
    assert not problems
    seen = rows(live_mill, "SELECT i, j FROM n")
    assert (len(seen), {r["j"] for r in seen if r["i"] == 0}) == (2 + 16, {3})
