"""Queries are stopped, started, altered, renamed and replaced: their state is kept, or they say that it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.errors import EslError, NameTaken, RunError, UnknownName
from millstream.mill import Mill, connect
from millstream.mill.stored.catalog_store import CatalogStore

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) ORDER BY ts SOURCE 'csv:in';"
SUMS = "SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total, window_end AS until FROM s GROUP BY k"
Row = tuple[object, ...]


@pytest.fixture
def feed(tmp_path: Path) -> Callable[[int, str], None]:
    """Puts a file with rows `k v second` into the folder of the stream."""
    (tmp_path / "in").mkdir()

    def put(number: int, rows: str) -> None:
        lines = [row.split() for row in rows.split(",")]
        text = "".join(f"{k},{v},2024-01-01T00:00:{int(second):02d}\n" for k, v, second in lines)
        hidden = tmp_path / "in" / f".{number}.csv"
        hidden.write_text("k,v,ts\n" + text)
        hidden.rename(tmp_path / "in" / f"{number}.csv")

    return put


def rows(mill: Mill, name: str, *columns: str) -> list[Row]:
    """What a query has answered, once it has read what is there."""
    query = mill.query(name)
    query.process_available()
    return sorted(tuple(row[c] for c in columns) for row in query.to_arrow().to_pylist())


def said(mill: Mill, text: str) -> list[str]:
    return [answer.message for answer in mill.execute(text)]


def shown(mill: Mill, name: str) -> dict[str, str]:
    table = mill.execute("SHOW QUERIES")[0].table
    assert table is not None
    return next(row for row in table.to_pylist() if row["query"] == name)


def agrees(mill: Mill) -> None:
    """The store and the catalog speak of the same definitions."""
    entries = mill.engine.definitions.store.entries()
    stored = {entry.key for entry in entries}
    from millstream.catalog.catalog import STDOUT, key_of
    from millstream.catalog.definitions import PythonAggregate

    found = {key_of(d) for d in mill.catalog if d != STDOUT and not isinstance(d, PythonAggregate)}
    assert stored == found | mill.catalog.broken.keys()
    assert not [entry for entry in entries if entry.pending or entry.left_over]


def test_stop_and_start(live_mill: Mill, feed: Callable[[int, str], None]) -> None:
    feed(0, "a 1 1,a 2 2,b 5 3")
    live_mill.execute(f"{STREAM} CREATE QUERY q AS {SUMS};")
    assert rows(live_mill, "q", "k", "total") == []
    assert said(live_mill, "STOP QUERY q; STOP QUERY q") == ["stopped query q", "query q is stopped already"]
    assert shown(live_mill, "q")["state"] == "stopped"
    feed(1, "a 4 4,c 7 15")
    with pytest.raises(NameTaken):
        live_mill.execute(f"CREATE QUERY q AS {SUMS};")
    assert said(live_mill, "START QUERY q; START QUERY q") == ["started query q", "query q runs already"]
    assert shown(live_mill, "q")["state"] == "running"
    assert rows(live_mill, "q", "k", "total") == [("a", 7), ("b", 5)]
    agrees(live_mill)
    live_mill.execute("DROP QUERY q; DROP STREAM s")
    agrees(live_mill)
    with pytest.raises(UnknownName, match="no query 'q'"):
        live_mill.execute("START QUERY q")


def test_alter_a_query_that_keeps_its_state(live_mill: Mill, feed: Callable[[int, str], None]) -> None:
    feed(0, "a 1 1,b 5 3")
    live_mill.execute(f"{STREAM} CREATE QUERY q AS {SUMS};")
    rows(live_mill, "q", "k", "total")
    altered = SUMS.replace("SELECT k,", "SELECT upper(k) AS k,").replace("AS total", "+ 100 AS total")
    assert said(live_mill, f"ALTER QUERY q AS {altered}") == [
        "altered query q, version 2; it goes on from where it was"
    ]
    feed(1, "a 4 4,c 7 15")
    assert rows(live_mill, "q", "k", "total") == [("A", 105), ("B", 105)]
    versions = live_mill.execute("SHOW VERSIONS OF QUERY q")[0].table
    assert versions is not None
    assert versions["version"].to_pylist() == ["1", "2"]
    assert versions["text"].to_pylist()[1] == f"CREATE QUERY q AS {altered}"
    agrees(live_mill)


def test_alter_a_query_that_loses_its_state(live_mill: Mill, feed: Callable[[int, str], None]) -> None:
    feed(0, "a 1 1,b 5 3")
    live_mill.execute(f"{STREAM} CREATE QUERY q AS {SUMS};")
    rows(live_mill, "q", "k", "total")
    feed(1, "a 4 4,c 7 15")
    assert rows(live_mill, "q", "k", "total") == [("a", 5), ("b", 5)]
    message = "altered query q, version 2; it begins anew, with the rows that come from now on"
    message += ": answers are complete for what begins at 2024-01-01T00:00:15.000001 or later"
    assert said(live_mill, "ALTER QUERY q WINDOW [RANGE 5 SECONDS, WA ts]") == [message]
    assert shown(live_mill, "q")["state"] == "running"
    assert shown(live_mill, "q")["complete from"] == "2024-01-01T00:00:15.000001"
    feed(2, "a 4 21,a 1 22,c 7 26,c 1 31")
    found = rows(live_mill, "q", "k", "total")
    assert found[-2:] == [("b", 5), ("c", 7)] or ("c", 7) in found
    assert sorted(found) == [("a", 5), ("a", 5), ("b", 5), ("c", 7)]  # what was answered before, and c from 25 on
    agrees(live_mill)


def test_what_a_query_passes_over_is_not_in_its_sink(
    live_mill: Mill, feed: Callable[[int, str], None], tmp_path: Path
) -> None:
    feed(0, "a 1 1,b 2 3")
    live_mill.execute(f"{STREAM} CREATE SINK o TO 'csv:out.csv'; INSERT INTO o SELECT k, v FROM s;")
    live_mill.query("o").process_available()
    live_mill.execute("ALTER QUERY o AS SELECT k, v * 10 AS v FROM s STARTING NOW")
    feed(1, "c 3 5")
    live_mill.query("o").process_available()
    live_mill.execute("ALTER QUERY o AS SELECT k, v * 100 AS v FROM s")
    feed(2, "d 4 6")
    live_mill.query("o").process_available()
    assert (tmp_path / "out.csv").read_text().split() == ["k,v", "a,1", "b,2", "c,30", "d,400"]
    folders = [entry.name for entry in (live_mill.home.root / "queries").iterdir()]
    assert len(folders) == 1


def test_alter_a_stream_beneath_queries(live_mill: Mill, feed: Callable[[int, str], None]) -> None:
    feed(0, "a 1 1")
    live_mill.execute(f"""{STREAM} CREATE STREAM d AS SELECT * FROM s WHERE v < 9; CREATE QUERY q AS {SUMS};
        CREATE QUERY p AS {SUMS.replace("FROM s", "FROM d")}; CREATE QUERY stopped AS {SUMS}; STOP QUERY stopped""")
    rows(live_mill, "q", "k", "total")
    message = "altered stream s, version 2; q, p started again"
    assert said(live_mill, "ALTER STREAM s SET (SLACK = 6 SECONDS, IDLE AFTER = 1 HOUR)") == [message]
    feed(1, "a 4 12,a 2 9")  # the last one would be late without the slack
    feed(2, "a 8 30")
    for name in ("q", "p"):
        assert rows(live_mill, name, "total") == [(3,), (4,)]
    assert shown(live_mill, "stopped")["state"] == "stopped"
    described = live_mill.execute("DESCRIBE s")[0].message
    assert "slack 6 seconds, idle after 1 hour" in described
    live_mill.execute("ALTER STREAM s SET (SLACK = DEFAULT, IDLE AFTER = DEFAULT)")
    assert "slack" not in live_mill.execute("DESCRIBE s")[0].message
    agrees(live_mill)


def test_replace_what_others_stand_on(live_mill: Mill, feed: Callable[[int, str], None]) -> None:
    feed(0, "a 1 1")
    live_mill.execute(f"{STREAM} CREATE STREAM d AS SELECT k, v, ts FROM s; CREATE QUERY q AS SELECT k, v FROM d;")
    assert rows(live_mill, "q", "k", "v") == [("a", 1)]
    said(live_mill, "CREATE OR REPLACE STREAM d AS SELECT upper(k) AS k, v + 1 AS v, ts FROM s")
    feed(1, "b 2 2")
    assert rows(live_mill, "q", "k", "v") == [("B", 3), ("a", 1)]
    with pytest.raises(RunError, match=r"stream d is used by query q, which would not bind any more.*'v'"):
        live_mill.execute("CREATE OR REPLACE STREAM d AS SELECT k, ts FROM s")
    with pytest.raises(RunError, match="would be made from itself"):
        live_mill.execute("CREATE OR REPLACE STREAM s AS SELECT k, v, ts FROM d")
    live_mill.execute(f"CREATE QUERY w AS {SUMS};")
    rows(live_mill, "w", "k")
    with pytest.raises(RunError, match=r"stream s is used by query w, which could not go on from the state"):
        live_mill.execute(STREAM.replace("v INT", "v BIGINT").replace("CREATE", "CREATE OR REPLACE"))
    assert {name: shown(live_mill, name)["state"] for name in ("q", "w")} == {"q": "running", "w": "running"}
    with pytest.raises(EslError, match="already a stream 'd'"):
        live_mill.execute("CREATE OR REPLACE TABLE d (k STRING) SOURCE 'csv:in'")
    feed(2, "c 3 3")
    assert rows(live_mill, "q", "k", "v") == [("B", 3), ("C", 4), ("a", 1)]
    agrees(live_mill)


def test_replace_an_aggregate_and_a_table(live_mill: Mill, feed: Callable[[int, str], None]) -> None:
    feed(0, "a 1 1")
    body = "{ TABLE t (x INT); INITIALIZE: { INSERT INTO t VALUES (v); } ITERATE: { UPDATE t SET x = x + v; } "
    body += "TERMINATE: { INSERT INTO RETURN SELECT x FROM t; } }"
    live_mill.execute(f"""{STREAM} CREATE AGGREGATE mysum (v INT) : INT {body};
        CREATE TABLE names AS SELECT 'a' AS k, 'Anna' AS name;
        CREATE QUERY named AS SELECT name, v FROM s JOIN names ON s.k = names.k;
        CREATE QUERY q AS {SUMS.replace("sum(v)", "mysum(v)")};""")
    assert rows(live_mill, "named", "name", "v") == [("Anna", 1)]
    rows(live_mill, "q", "k")
    with pytest.raises(NameTaken, match="mysum is still used by q"):
        live_mill.execute("DROP AGGREGATE mysum")
    with pytest.raises(RunError, match="aggregate mysum is used by query q, which could not go on"):
        live_mill.execute(f"CREATE OR REPLACE AGGREGATE mysum (v INT) : INT {body.replace('x + v', 'x - v')};")
    live_mill.execute("CREATE OR REPLACE TABLE names AS SELECT 'a' AS k, 'Anton' AS name;")
    feed(1, "a 2 2")
    assert rows(live_mill, "named", "name", "v") == [("Anna", 1), ("Anton", 2)]
    agrees(live_mill)


def test_rename_everything(live_mill: Mill, feed: Callable[[int, str], None], tmp_path: Path) -> None:
    feed(0, "a 1 1,b 5 3")
    live_mill.execute(
        f"""{STREAM} CREATE STREAM d AS SELECT s.k, s.v AS s, ts FROM s WHERE s.v < 'x9';
        CREATE SINK o TO 'csv:out'; CREATE QUERY q AS {SUMS.replace("sum(v)", "sum(s.v)")};
        INSERT INTO o SELECT k, s, 's' AS text FROM d;""".replace("< 'x9'", "< 99")
    )
    live_mill.query("o").process_available()
    rows(live_mill, "q", "k")
    assert said(live_mill, "ALTER STREAM s RENAME TO source; ALTER SINK o RENAME TO into_it;") == [
        "renamed stream s to source; q, o started again",
        "renamed sink o to into_it; o, q started again",  # they share the reading of their stream
    ]
    live_mill.execute('ALTER STREAM d RENAME TO "the d"; ALTER QUERY q RENAME TO sums; ALTER QUERY o RENAME TO copy;')
    feed(1, "a 4 4,c 7 15")
    assert rows(live_mill, "sums", "k", "total") == [("a", 5), ("b", 5)]
    live_mill.query("copy").process_available()
    lines = [line for file in (tmp_path / "out").glob("*.csv") for line in file.read_text().splitlines()[1:]]
    assert sorted(lines) == ["a,1,s", "a,4,s", "b,5,s", "c,7,s"]
    texts = {d.name: d.text for d in live_mill.catalog if d.name != "stdout"}
    assert (
        texts["the d"] == 'CREATE STREAM "the d" AS SELECT source.k, source.v AS s, ts FROM source WHERE source.v < 99'
    )
    assert texts["copy"] == "INSERT INTO into_it SELECT k, s, 's' AS text FROM \"the d\""
    # The old names are free, and those that take them begin anew.
    live_mill.execute(f"{STREAM} CREATE QUERY q AS {SUMS};")
    assert rows(live_mill, "q", "k", "total") == [("a", 5), ("b", 5)]
    assert len(list((live_mill.home.root / "queries").iterdir())) == 3
    agrees(live_mill)


def test_a_rename_that_would_change_a_meaning_is_refused(live_mill: Mill, feed: Callable[[int, str], None]) -> None:
    feed(0, "a 1 1")
    live_mill.execute(f"{STREAM} CREATE QUERY q AS WITH s AS (SELECT k FROM s) SELECT s.k FROM s;")
    with pytest.raises(RunError, match="stream s is used by query q"):
        live_mill.execute("ALTER STREAM s RENAME TO t")
    live_mill.execute("CREATE STREAM t AS SELECT v FROM s")
    with pytest.raises(NameTaken, match="already a stream 't'"):
        live_mill.execute("ALTER STREAM s RENAME TO t")
    assert live_mill.catalog.relation("s") is not None
    agrees(live_mill)


def test_a_mill_resumes_in_any_state(spark: object, feed: Callable[[int, str], None], tmp_path: Path) -> None:
    feed(0, "a 1 1,b 5 3")
    with connect(tmp_path / "ck", base=tmp_path, master="local[2]") as mill:
        mill.execute(f"""SET buckets = 3; {STREAM} CREATE STREAM d AS SELECT * FROM s; CREATE QUERY q AS {SUMS};
            CREATE TABLE names AS SELECT 'a' AS k, 'Anna' AS name; CREATE SINK o TO 'csv:out';
            INSERT INTO o SELECT name, v FROM d JOIN names ON d.k = names.k;
            CREATE QUERY halted AS {SUMS}; STOP QUERY halted; ALTER QUERY q RENAME TO p;
            DROP QUERY IF EXISTS nothing;""")
        for name in ("p", "o"):
            mill.query(name).process_available()
        asked = mill.execute("SELECT k FROM s")[0].query
        assert asked is not None
        assert asked.name == "select_1"
    feed(1, "a 4 4,c 7 15")
    with connect(tmp_path / "ck", base=tmp_path / "in", master="local[2]", resumes=True) as mill:
        assert mill.resumed.queries == ("p", "o")
        assert mill.resumed.problems == ()
        assert rows(mill, "p", "k", "total") == [("a", 5), ("b", 5)]
        assert shown(mill, "halted")["state"] == "stopped"
        assert mill.catalog.query("select_1") is None
        mill.query("o").process_available()
        agrees(mill)
        # The script that made it all says it again, each statement once.
        session = mill.session(base=tmp_path)
        again = f"""{STREAM} CREATE STREAM d AS SELECT * FROM s;
            INSERT INTO o SELECT name, v FROM d JOIN names ON d.k = names.k;"""
        assert [a.message for a in session.execute(again)] == [
            "s is already there",
            "d is already there",
            "query o is already there",
        ]
        with pytest.raises(NameTaken):
            session.execute(STREAM)
        mill.execute("START QUERY halted")
        assert rows(mill, "halted", "k", "total") == [("a", 5), ("b", 5)]
    lines = [line for file in (tmp_path / "out").glob("*.csv") for line in file.read_text().splitlines()[1:]]
    assert sorted(lines) == ["Anna,1", "Anna,4"]


def test_what_does_not_bind_any_more_is_broken_and_told(spark: object, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "there").mkdir()
    with connect(tmp_path / "ck", base=tmp_path, master="local[2]") as mill:
        mill.execute("CREATE STREAM s (k STRING) SOURCE 'csv:in'; CREATE STREAM t (k STRING) SOURCE 'csv:there';")
        mill.execute(
            "CREATE STREAM d AS SELECT k FROM s; CREATE QUERY q AS SELECT k FROM d; CREATE QUERY p AS SELECT k FROM t"
        )
    store = CatalogStore(tmp_path / "ck" / "catalog.db")
    entry = next(entry for entry in store.entries() if entry.name == "s")
    from dataclasses import replace

    store.put(replace(entry, text=entry.text.replace("STRING", "NOTYPE")))
    store.close()
    with connect(tmp_path / "ck", base=tmp_path, master="local[2]", resumes=True) as mill:
        assert mill.resumed.queries == ("p",)
        assert [problem.partition(":")[0] for problem in mill.resumed.problems] == [
            "stream s is broken",
            "stream d is broken",
            "query q is broken",
        ]
        assert shown(mill, "q")["state"].startswith("broken: ")
        agrees(mill)
        with pytest.raises(UnknownName, match="query q is broken"):
            mill.execute("STOP QUERY q")
        with pytest.raises(NameTaken, match="there is already a query 'q', which is broken"):
            mill.execute("CREATE QUERY q AS SELECT k FROM t")
        answers = said(mill, "CREATE OR REPLACE STREAM s (k STRING) SOURCE 'csv:in'")
        assert answers == ["created stream s; stream d and query q are mended"]
        assert shown(mill, "q")["state"] == "running"
        agrees(mill)
