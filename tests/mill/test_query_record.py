"""A checkpoint is good for the same sources and the same state; what is refused says what has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill.engine.lone_queries import LoneQueries
from millstream.mill.home.home import Home
from millstream.mill.home.query_record import QueryRecord
from millstream.mill.mill import connect
from millstream.plan.column_origins import fingerprints
from millstream.plan.reads import sources_of
from tests.plan.edits import edited, plan_of


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    opened = Home(tmp_path)
    yield opened
    opened.close()


def record(query: str, old: str = "", new: str = "") -> QueryRecord:
    """What is written down of a query of the fingerprints, perhaps edited."""
    text = edited(query, old, new)
    plan = plan_of(text)
    return QueryRecord(sources_of(plan), fingerprints(plan), text)


def begun(home: Home, query: str, now: QueryRecord) -> Path:
    place = home.query_place(query, now)
    assert place.new
    batch(place.folder, "offsets", "commits")
    return place.folder


def batch(folder: Path, *logs: str) -> None:
    for log in logs:
        (folder / "checkpoint" / log).mkdir(parents=True, exist_ok=True)
        (folder / "checkpoint" / log / "0").write_text("v1\n{}")


def test_other_state_is_refused_with_what_has_changed(home: Home) -> None:
    folder = begun(home, "window", record("window"))
    with pytest.raises(RunError) as caught:
        home.query_place("window", record("window", "k INT, g STRING, v INT", "k STRING, g STRING, v BIGINT"))
    assert str(caught.value) == (
        "the checkpoint of query window holds other state than the query would now keep: in its window aggregate, "
        "the argument of SUM(v) was INT and is now BIGINT; key k was INT and is now STRING\n"
        f"help: keep what it was; or give the query another name, or remove {folder} to start from the beginning"
    )
    assert not home.query_place("window", record("window")).fresh  # and the checkpoint is as it was


def test_an_edit_that_changes_no_state_goes_on_and_is_written_down(home: Home) -> None:
    folder = begun(home, "q", record("window"))
    now = record("window", "sum(v) [", "sum(S.V) [")
    assert not home.query_place("q", now).fresh
    known = QueryRecord.load(folder / "query.json")
    assert known is not None
    assert known.text == now.text
    assert known.steps == now.steps


def test_a_record_without_fingerprints_is_of_an_earlier_version(home: Home) -> None:
    file = begun(home, "q", record("window")) / "query.json"
    written = json.loads(file.read_text())
    del written["steps"]
    file.write_text(json.dumps({**written, "shape": "WindowAggregate SUM(v)", "types": []}))
    with pytest.raises(RunError, match="was written by an earlier version, which did not say what its state is good"):
        home.query_place("q", record("window"))


def test_fingerprints_in_other_words_are_of_an_earlier_version(home: Home) -> None:
    file = begun(home, "q", record("window")) / "query.json"
    written = json.loads(file.read_text())
    del written["version"]
    file.write_text(json.dumps(written))
    with pytest.raises(RunError, match="was written by an earlier version"):
        home.query_place("q", record("window"))
    file.write_text(json.dumps({**written, "steps": []}))  # without state there is nothing to compare
    with pytest.raises(RunError, match="its window aggregate is new"):
        home.query_place("q", record("window"))


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

    monkeypatch.setattr(LoneQueries, "start_counted", failing)
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
