"""The Python interface: connect, execute, query, read, subscribe, stop."""

from __future__ import annotations

from pathlib import Path

import pytest

import millstream
from millstream import EslError, RunError
from millstream.errors import NameTaken
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark


@pytest.fixture
def numbers(tmp_path: Path) -> str:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("id\n" + "\n".join(map(str, range(10))) + "\n")
    return "CREATE STREAM s (id INT) SOURCE 'csv:in';"


def test_read_results(mill: Mill, numbers: str) -> None:
    mill.execute(f"{numbers} CREATE QUERY q AS SELECT id, id * id AS square FROM s WHERE id > 7;")
    query = mill.query("Q")
    assert query.wait(timeout=60)
    assert query.to_arrow().to_pylist() == [{"id": 8, "square": 64}, {"id": 9, "square": 81}]
    assert query.to_pandas()["square"].tolist() == [64, 81]
    assert (query.counts.rows_in, query.counts.rows_out, query.state) == (10, 2, "ended")
    assert [t.num_rows for t in query.subscribe()] == [2]


def test_subscribe_then_stop(live_mill: Mill) -> None:
    live_mill.execute("CREATE STREAM t (n BIGINT) SOURCE 'rate:100'; CREATE QUERY q AS SELECT n FROM t;")
    seen = 0
    with live_mill.query("q") as query:
        for batch in query.subscribe(timeout=60):
            seen += batch.num_rows
            if seen > 50:
                break
    assert seen > 50
    assert query.state == "ended"


def test_results_that_are_dropped_are_counted(mill: Mill, numbers: str, tmp_path: Path) -> None:
    (tmp_path / "in" / "b.csv").write_text("id\n10\n11\n")
    mill.execute("SET results_kept = 3;")
    mill.execute("CREATE STREAM s (id INT) SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);")
    mill.execute("CREATE QUERY q AS SELECT id FROM s;")
    mill.wait()
    query = mill.query("q")
    assert query.to_arrow().num_rows + query.dropped == 12
    assert query.dropped > 0


def test_nothing_is_done_if_a_statement_is_wrong(mill: Mill, numbers: str) -> None:
    with pytest.raises(EslError, match="no column 'idd'"):
        mill.execute(f"{numbers} CREATE QUERY q AS SELECT id FROM s; CREATE QUERY p AS SELECT idd FROM s;")
    assert mill.queries == ()
    assert mill.catalog.relation("s") is None


def test_tables_are_queried_at_once(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id,kind\n1,b\n2,a\n3,a\n")
    mill.execute("CREATE TABLE item (id INT, kind STRING) SOURCE 'csv:items.csv';")
    mill.execute("CREATE TABLE big AS SELECT id * 10 AS ten, kind FROM item WHERE id > 1;")
    answers = mill.execute("""
        SELECT * FROM big ORDER BY ten DESC; SELECT DISTINCT kind FROM item ORDER BY kind;
        SELECT id FROM item ORDER BY kind, id LIMIT 1 OFFSET 1; SELECT 1 + 1 AS two;
    """)
    assert [a.table.to_pylist() for a in answers if a.table is not None] == [
        [{"ten": 30, "kind": "a"}, {"ten": 20, "kind": "a"}],
        [{"kind": "a"}, {"kind": "b"}],
        [{"id": 3}],
        [{"two": 2}],
    ]


def test_a_table_with_a_broken_row_is_an_error(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id\nx\n")
    mill.execute("CREATE TABLE item (id INT) SOURCE 'csv:items.csv';")
    with pytest.raises(RunError):
        mill.execute("SELECT * FROM item;")


def test_show_describe_explain_drop(mill: Mill, numbers: str) -> None:
    mill.execute(
        f"{numbers} CREATE STREAM odd AS SELECT id FROM s WHERE id % 2 = 1; CREATE QUERY q AS SELECT * FROM odd;"
    )
    mill.wait()
    streams, queries, odd, plan, settings = mill.execute(
        "SHOW STREAMS; SHOW QUERIES; DESCRIBE odd; EXPLAIN q; SHOW SETTINGS;"
    )
    assert streams.table is not None
    assert streams.table["stream"].to_pylist() == ["s", "odd"]
    assert queries.table is not None
    assert queries.table.to_pylist()[0]["rows out"] == "5"
    assert odd.table is not None
    assert odd.table.to_pylist() == [{"column": "id", "type": "INT", "null": "yes"}]
    assert plan.text is not None
    assert "Filter id % 2 = 1" in plan.text
    assert settings.table is not None
    assert settings.table["setting"].to_pylist() == [
        "trigger_interval",
        "results_kept",
        "heartbeats",
        "buckets",
        "reader",
        "sharing",
    ]
    assert [a.message for a in mill.execute("DROP QUERY q; DROP STREAM odd; DROP STREAM IF EXISTS odd;")] == [
        "dropped query q",
        "dropped stream odd",
        "there is no stream odd",
    ]
    with pytest.raises(RunError, match="no query 'q' runs"):
        mill.query("q")


def test_a_failing_query_leaves_the_others_alone(mill: Mill, numbers: str) -> None:
    mill.execute(
        f"{numbers} CREATE QUERY bad AS SELECT raise_error('boom') AS x FROM s; CREATE QUERY good AS SELECT id FROM s;"
    )
    with pytest.raises(RunError, match=r"query bad failed: .*boom"):
        mill.wait()
    assert mill.query("good").to_arrow().num_rows == 10
    assert mill.query("bad").state == "failed"


def test_a_query_that_fails_at_once_is_in_nobodys_way(mill: Mill, numbers: str) -> None:
    bad = "SELECT raise_error('boom') AS x FROM s;"
    mill.execute(f"{numbers} CREATE STREAM t (id INT) SOURCE 'csv:in'; CREATE SINK o TO 'csv:out.csv';")
    mill.execute(f"CREATE QUERY q AS {bad} INSERT INTO o {bad}")
    with pytest.raises(RunError, match=r"query q failed: .*boom"):
        mill.wait()
    with pytest.raises(NameTaken, match="already a query 'q'"):  # which of them?
        mill.execute("CREATE QUERY q AS SELECT id FROM t; CREATE QUERY q AS SELECT id FROM t;")
    mill.execute("INSERT INTO o SELECT id FROM t; CREATE QUERY q AS SELECT id FROM t; DROP STREAM s;")
    mill.query("q").wait()
    mill.query("o_2").wait()
    assert mill.query("q").to_arrow().num_rows == 10
    assert {query.name: query.state for query in mill.queries} == {"q": "ended", "o": "failed", "o_2": "ended"}
    with pytest.raises(NameTaken, match="already a query 'q'"):
        mill.execute("CREATE QUERY q AS SELECT id FROM t;")
    with pytest.raises(NameTaken, match="t is still used by q, o_2"):
        mill.execute("DROP STREAM t;")
    mill.execute("DROP QUERY o; DROP QUERY o_2; DROP QUERY q; DROP STREAM t; DROP SINK o;")


@pytest.mark.usefixtures("spark")
def test_a_checkpoint_belongs_to_one_process_and_to_its_sources(tmp_path: Path, numbers: str) -> None:
    (tmp_path / "other").mkdir()
    with connect(tmp_path / "ck", base=tmp_path, once=True) as mill:
        mill.execute(f"{numbers} CREATE QUERY q AS SELECT id FROM s;")
        mill.wait()
        with pytest.raises(RunError, match="another process uses the checkpoint folder"):
            connect(tmp_path / "ck")
    with connect(tmp_path / "ck", base=tmp_path, once=True) as mill:
        text = "CREATE STREAM s (id INT) SOURCE 'csv:other'; CREATE QUERY q AS SELECT id FROM s;"
        with pytest.raises(RunError, match="the checkpoint of query q belongs to other sources"):
            mill.execute(text)


def test_the_package_names_its_interface() -> None:
    assert all(hasattr(millstream, name) for name in millstream.__all__)
    with pytest.raises(AttributeError):
        _ = millstream.nothing
