"""Views, stored tables and streams that statements feed are definitions like others: they are there after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

import millstream
from millstream.errors import MillstreamError, NameTaken, RunError

MADE = """
CREATE STREAM put (at TIMESTAMP, k STRING, v INT) ORDER BY at;
CREATE TABLE seller (k STRING NOT NULL, credit DECIMAL(10, 2));
INSERT INTO seller VALUES ('a', 1), ('b', 2.5);
CREATE VIEW latest KEY (k) AS SELECT k, v, at FROM put;
CREATE QUERY all_of_them AS SELECT k, v FROM put;
"""
A_ROW = "INSERT INTO put VALUES (TIMESTAMP '2026-01-01 00:00:0{0}', '{1}', {0});"


def rows(mill: millstream.Mill, select: str) -> list[dict[str, object]]:
    (answer,) = mill.execute(select)
    assert answer.table is not None
    return sorted(answer.table.to_pylist(), key=str)


def settle(mill: millstream.Mill) -> None:
    for name in ("latest", "all_of_them"):
        mill.query(name).process_available()


def test_they_go_on_after_a_restart(tmp_path: Path) -> None:
    with millstream.connect(tmp_path / "home") as mill:
        mill.execute(MADE + A_ROW.format(1, "a"))
        settle(mill)
        position = mill.query("all_of_them").subscribe(timeout=1)
        assert [t.num_rows for t in position] == [1]
    with millstream.connect(tmp_path / "home", resumes=True) as mill:
        assert mill.resumed.problems == ()
        assert set(mill.resumed.queries) == {"latest", "all_of_them"}
        assert rows(mill, "SELECT k, v FROM latest") == [{"k": "a", "v": 1}]
        assert [str(row["credit"]) for row in rows(mill, "SELECT * FROM seller")] == ["1.00", "2.50"]
        mill.execute(A_ROW.format(2, "a") + A_ROW.format(3, "b") + "UPDATE seller SET credit = 9 WHERE k = 'a'")
        settle(mill)
        assert rows(mill, "SELECT k, v FROM latest") == [{"k": "a", "v": 2}, {"k": "b", "v": 3}]
        # What came before is in the same log, and its positions are those of before.
        behind = mill.query("all_of_them").subscribe(timeout=1, after=position.position)
        assert [row["v"] for table in behind for row in table.to_pylist()] == [2, 3]
        assert mill.query("all_of_them").to_arrow().num_rows == 3
        (answer,) = mill.execute(f"SUBSCRIBE all_of_them AFTER '{position.position}'")
        assert answer.subscription is not None
        assert [row["v"] for row in next(answer.subscription).to_pylist()][:1] == [2]
        assert mill.execute(MADE.splitlines()[4])[0].message == "latest is already there"
        for wrong in (
            "DROP QUERY latest;",
            "DROP TABLE latest;",
            "DROP STREAM put;",
            "CREATE QUERY latest AS SELECT k FROM put;",
        ):
            with pytest.raises(MillstreamError):
                mill.execute(wrong)
        mill.execute("DROP VIEW latest; DROP TABLE seller;")
    with millstream.connect(tmp_path / "home", resumes=True) as mill:
        assert mill.resumed.queries == ("all_of_them",)
        assert mill.catalog.relation("latest") is None
        assert mill.catalog.relation("seller") is None
        mill.execute(MADE.splitlines()[4])
        settle(mill)
        assert len(rows(mill, "SELECT k FROM latest")) == 2


def test_stopped_and_started_they_go_on(tmp_path: Path) -> None:
    with millstream.connect(tmp_path / "home") as mill:
        mill.execute(MADE + A_ROW.format(1, "a"))
        settle(mill)
        mill.execute("STOP QUERY latest; STOP QUERY all_of_them;" + A_ROW.format(2, "a"))
        assert rows(mill, "SELECT v FROM latest") == [{"v": 1}]
        mill.execute("START QUERY latest; START QUERY all_of_them;")
        settle(mill)
        assert rows(mill, "SELECT v FROM latest") == [{"v": 2}]
        following = mill.query("all_of_them").subscribe(timeout=5)
        assert [next(following).num_rows, next(following).num_rows] == [1, 1]
        mill.execute("ALTER QUERY all_of_them AS SELECT k, v FROM put WHERE v > 2;" + A_ROW.format(3, "c"))
        assert next(following).to_pylist() == [{"k": "c", "v": 3}]


def test_a_view_that_is_stopped_is_read_after_a_restart(tmp_path: Path) -> None:
    with millstream.connect(tmp_path / "home") as mill:
        mill.execute(MADE + A_ROW.format(1, "a") + A_ROW.format(2, "b"))
        mill.execute("CREATE VIEW empty KEY (k) AS SELECT k FROM put WHERE v > 100;")
        settle(mill)
        mill.query("empty").process_available()
        mill.execute("STOP QUERY latest; STOP QUERY empty;" + A_ROW.format(3, "a"))
    with millstream.connect(tmp_path / "home", resumes=True) as mill:
        assert mill.resumed.queries == ("all_of_them",)
        assert rows(mill, "SELECT k, v FROM latest") == [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
        assert rows(mill, "SELECT k FROM empty") == []
        assert rows(mill, "SELECT max(v) AS most FROM latest") == [{"most": 2}]  # by way of Spark
        (answer,) = mill.execute("SUBSCRIBE latest")
        assert answer.subscription is not None
        there = [row for table in answer.subscription for row in table.to_pylist()]
        assert sorted((row["op"], row["k"], row["v"]) for row in there) == [("insert", "a", 1), ("insert", "b", 2)]
        position = answer.subscription.position
        mill.execute("CREATE QUERY joined AS SELECT p.k, t.v FROM put AS p JOIN latest AS t ON p.k = t.k AND p.v = 3;")
        mill.query("joined").process_available()
        assert mill.query("joined").to_arrow().to_pylist() == [{"k": "a", "v": 1}]
        mill.execute("START QUERY latest;")
        settle(mill)
        assert rows(mill, "SELECT k, v FROM latest") == [{"k": "a", "v": 3}, {"k": "b", "v": 2}]
        (answer,) = mill.execute(f"SUBSCRIBE latest AFTER '{position}'")
        assert answer.subscription is not None
        assert [row["v"] for row in next(answer.subscription).to_pylist()] == [3]
        mill.execute("STOP QUERY latest; DROP QUERY joined; DROP VIEW latest;")
        mill.execute(MADE.splitlines()[4] + "STOP QUERY latest;")


def test_tables_are_replaced_and_renamed(tmp_path: Path) -> None:
    with millstream.connect(tmp_path / "home") as mill:
        mill.execute(MADE)
        mill.execute("ALTER TABLE seller RENAME TO vendor; INSERT INTO vendor VALUES ('c', 3);")
        assert len(rows(mill, "SELECT k FROM vendor")) == 3
        (answer,) = mill.execute("CREATE OR REPLACE TABLE vendor (k STRING);")
        assert answer.message == "replaced table vendor; it is empty"
        assert rows(mill, "SELECT * FROM vendor") == []
        with pytest.raises(RunError, match="rows of a stream without a source"):
            mill.execute("CREATE OR REPLACE STREAM put (at TIMESTAMP, k STRING) ORDER BY at;")
        with pytest.raises(NameTaken):
            mill.execute("CREATE TABLE vendor (k STRING);")
    with millstream.connect(tmp_path / "home", resumes=True) as mill:
        assert mill.resumed.problems == ()
        assert rows(mill, "SELECT * FROM vendor") == []
