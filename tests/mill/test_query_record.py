"""A checkpoint is good for the same sources, the same windows and the same types; what is refused says what changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.catalog.catalog import Catalog
from millstream.errors import RunError
from millstream.language.binder import bind
from millstream.language.bound import Define, Rows
from millstream.language.parser import statements
from millstream.mill.engine import Engine
from millstream.mill.home import Home
from millstream.mill.mill import connect
from millstream.mill.query_record import QueryRecord
from millstream.plan.build import build
from millstream.plan.kept_types import kept_types
from millstream.plan.passes import apply_passes
from millstream.plan.reads import sources_of
from millstream.plan.shape import shape_of

STREAMS = """
CREATE STREAM s (k INT, v INT, w DOUBLE, ts TIMESTAMP, at TIMESTAMP_NTZ) ORDER BY ts SOURCE 'csv:in';
CREATE STREAM r (k INT, x STRING, tr TIMESTAMP) ORDER BY tr SOURCE 'csv:more';
CREATE AGGREGATE twice (n INT) : INT {
  TABLE state (total INT); INITIALIZE: { INSERT INTO state VALUES (n); }
  ITERATE: { UPDATE state SET total = total + n; }
  TERMINATE: { INSERT INTO RETURN SELECT total FROM state; } };
"""
QUERIES = {
    "window": "SELECT k, sum(v) [RANGE 1 MINUTE, WA ts] AS total FROM s GROUP BY k",
    "rows": "SELECT k, max(v) [RANGE 10 ROWS] AS most FROM s GROUP BY k",
    "session": "SELECT k, min(v) AS n FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)"
    " GROUP BY k",
    "over": "SELECT v, w, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS 3 PRECEDING) AS total FROM s",
    "join": "SELECT s.v, r.x FROM s [RANGE 1 MINUTE], r WHERE s.k = r.k",
    "union": "SELECT ts, v FROM s UNION SELECT tr, k FROM r",
    "merge": "SELECT ts, v FROM s MERGE ORDERED SELECT tr, k FROM r",
    "late": "SELECT v FROM s.LATE",
    "nested": "SELECT max(n) [RANGE 1 HOUR, WA e] AS most FROM (SELECT v + k AS n, window_end AS e FROM"
    " (SELECT k, sum(v) [RANGE 1 MINUTE, WA ts] AS v, window_end FROM s GROUP BY k) AS x) AS y",
    "user": "SELECT twice(v) [RANGE 1 MINUTE, WA ts] AS t FROM s",
}
CHANGES = [
    ("window", "k INT, v", "k STRING, v", ["key k was INT and is now STRING"]),
    ("window", "v INT", "v BIGINT", ["the argument of SUM(v) was INT and is now BIGINT"]),
    ("window", "v INT", "v DOUBLE", ["the argument of SUM(v) was INT and is now DOUBLE"]),
    ("rows", "v INT", "v DECIMAL(9, 2)", ["the argument of MAX(v) was INT and is now DECIMAL(9, 2)"]),
    ("session", "k INT, v", "k DATE, v", ["key k was INT and is now DATE"]),
    ("over", "w DOUBLE", "w STRING", ["column w was DOUBLE and is now STRING"]),
    ("over", "SELECT v, w,", "SELECT v,", ["column w is gone"]),
    ("over", "SELECT v, w,", "SELECT v, w, ts,", ["column ts is new"]),
    ("join", "x STRING", "x INT", ["column x was STRING and is now INT"]),
    ("join", "k INT", "k BIGINT", ["key `s:k` = `r:k` was INT and is now BIGINT"]),
    ("union", "v INT", "v DOUBLE", ["column v was INT and is now DOUBLE"]),
    ("merge", "v INT", "v DOUBLE", ["column v was INT and is now DOUBLE"]),
    ("late", "w DOUBLE", "w FLOAT", ["column w was DOUBLE and is now FLOAT"]),
    ("nested", "k INT, v", "k BIGINT, v", ["key k was INT and is now BIGINT"]),
    ("nested", "v INT", "v DOUBLE", ["the argument of MAX(n) was BIGINT and is now DOUBLE", "of SUM(v) was INT and"]),
    ("user", "(n INT) : INT", "(n BIGINT) : INT", ["the argument of TWICE(v) was INT and is now BIGINT"]),
    ("user", "total + n", "total + 2 * n", ["the state of TWICE(v) was int64, int64, int64, int64 and is now list<"]),
]
SAME = [
    ("window", "SELECT k,", "SELECT k + 1 AS more,"),
    ("window", "w DOUBLE", "w STRING"),
    ("over", "SELECT v, w,", "SELECT w, v,"),
    ("user", "total + n", "n + total"),
]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    opened = Home(tmp_path)
    yield opened
    opened.close()


def record(query: str, old: str = "", new: str = "") -> QueryRecord:
    text, catalog = STREAMS + QUERIES[query], Catalog()
    assert old in text
    for statement in statements(text.replace(old, new) if old else text):
        bound = bind(statement, catalog)
        if isinstance(bound, Define):
            catalog.add(bound.definition)
    assert isinstance(bound, Rows)
    plan = apply_passes(build(bound.select), catalog)
    return QueryRecord(sources_of(plan), shape_of(plan), kept_types(plan), text)


def begun(home: Home, query: str, now: QueryRecord) -> Path:
    place = home.query_place(query, now)
    assert place.new
    batch(place.folder, "offsets", "commits")
    return place.folder


def batch(folder: Path, *logs: str) -> None:
    for log in logs:
        (folder / "checkpoint" / log).mkdir(parents=True, exist_ok=True)
        (folder / "checkpoint" / log / "0").touch()


@pytest.mark.parametrize(("query", "old", "new", "says"), CHANGES)
def test_changed_types_are_refused_by_name(home: Home, query: str, old: str, new: str, says: list[str]) -> None:
    folder = begun(home, query, record(query))
    with pytest.raises(RunError) as caught:
        home.query_place(query, record(query, old, new))
    for words in says:
        assert words in str(caught.value)
    assert str(caught.value).startswith(f"the checkpoint of query {query} holds other values than the query would now")
    assert f"or give the query another name, or remove {folder} to start" in str(caught.value)
    assert not home.query_place(query, record(query)).fresh  # and the checkpoint is as it was


@pytest.mark.parametrize(("query", "old", "new"), SAME)
def test_what_does_not_enter_state_may_change(home: Home, query: str, old: str, new: str) -> None:
    begun(home, query, record(query))
    assert not home.query_place(query, record(query, old, new)).fresh


def test_a_record_without_types_is_taken_at_its_word_once(home: Home) -> None:
    file = begun(home, "q", record("window")) / "query.json"
    written = json.loads(file.read_text())
    del written["types"]
    file.write_text(json.dumps(written))
    home.query_place("q", record("window"))
    with pytest.raises(RunError, match="key k was INT and is now STRING"):
        home.query_place("q", record("window", "k INT, v", "k STRING, v"))


def test_until_its_first_batch_is_complete_a_query_may_become_another(home: Home) -> None:
    place = home.query_place("q", record("window"))
    (place.folder / "checkpoint" / "offsets").mkdir(parents=True)
    (place.folder / "checkpoint" / "sources" / "0").mkdir(parents=True)
    again = home.query_place("q", record("join"))
    assert (again.id, again.fresh, again.new) == (place.id, True, False)
    assert not (place.folder / "checkpoint").exists()
    batch(place.folder, "offsets")
    place.of_output(0).save("sink", {"batch": -1, "open": False})
    assert not home.query_place("q", record("join")).fresh  # it goes on with what it has planned
    assert home.query_place("q", record("window")).fresh
    for written in ({"batch": 0, "open": False}, {"batch": -1, "open": True}):
        batch(place.folder, "offsets")
        place.of_output(0).save("sink", written)
        with pytest.raises(RunError, match="belongs to other sources"):
            home.query_place("q", record("join"))
    place.of_output(0).save("sink", {"path": "out"})
    batch(place.folder, "commits")
    home.query_place("q", record("window"))
    with pytest.raises(RunError, match="belongs to other sources"):
        home.query_place("q", record("join"))


def test_a_start_that_fails_leaves_nothing(home: Home) -> None:
    place = home.query_place("q", record("window"))
    home.undo(place)
    assert not place.folder.exists()
    folder = begun(home, "q", record("join"))
    home.undo(home.query_place("q", record("join")))
    assert folder.exists()


@pytest.mark.spark
def test_a_mill_keeps_the_record_of_what_started_alone(
    spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise RunError("no")

    monkeypatch.setattr(Engine, "_started", failing)
    with connect(tmp_path / "ck", base=tmp_path) as mill:
        for _ in range(2):  # the name is not taken
            with pytest.raises(RunError, match=r"^no$"):
                mill.execute("DROP STREAM IF EXISTS s; CREATE STREAM s (k INT) SOURCE 'csv:in'; SELECT k FROM s")
        assert not list((tmp_path / "ck" / "queries").iterdir())


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": "../../../x", "sources": []}', "\0"])
def test_a_damaged_record_is_named(home: Home, text: str) -> None:
    file = begun(home, "q", record("window")) / "query.json"
    file.write_text(text)
    with pytest.raises(RunError, match=r"query\.json is damaged: it does not name a query\nhelp: bring it back"):
        home.query_place("q", record("window"))
