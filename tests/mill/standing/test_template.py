"""Registrations in the driver: handles, numbers that are never given twice, and answers that are kept."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from millstream.catalog.definitions import Query
from millstream.catalog.fit_values import Misfit
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError
from millstream.language.binder import bind
from millstream.language.bound import Start
from millstream.language.parser import parse
from millstream.mill import connect
from millstream.mill.standing import template as template_module
from millstream.mill.standing.kept_answers import NUMBER, KeptAnswers
from millstream.mill.standing.registration import Registration
from millstream.mill.standing.templates import Templates
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from millstream.spark.stage.registration_log import HANDLE, SYNC_SECONDS, Kind
from tests.language.auctions import catalog

TEMPLATE = """CREATE QUERY alert (who STRING, low REAL) AS SELECT price FROM open_auction
  WHERE seller_id LIKE who || '%' AND price > low"""
ANSWERS = pa.schema([(NUMBER, pa.int64()), ("price", pa.float32())])


class House:
    """Templates over a folder, without Spark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = catalog()
        (statement,) = parse(TEMPLATE)
        bound = bind(statement, self.catalog)
        assert isinstance(bound, Start)
        self.query: Query = bound.query
        self.plan = physical(apply_passes(build(self.query), self.catalog), Facts())
        self.templates = Templates(lambda: ["alert"], durable=False)

    def open(self, *, fresh: bool = False, waits: bool = False) -> template_module.Template:
        place = QueryPlace(self.folder, "0" * 12, fresh)
        made = self.templates.open(self.query, place, self.plan, waits)
        assert made.keep_answers(place, ANSWERS, 10).field(NUMBER).type == pa.string()
        return made


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.templates.close()


def rows(*who: str) -> pa.Table:
    return pa.table({"who": list(who), "low": [1.0] * len(who)})


def handles_of(template: template_module.Template) -> list[str]:
    found: list[str] = template.table()[HANDLE].to_pylist()
    return found


def test_handles_are_given_or_made(house: House) -> None:
    template = house.open()
    assert template.register(rows("a", "b", "c"), [None, "B", None]) == ["alert_1", "B", "alert_3"]
    with pytest.raises(RunError, match="already a registration 'b', of alert"):
        template.register(rows("d"), ["b"])
    assert template.register(rows("d"), ["Alert_5"]) == ["Alert_5"]
    assert template.register(rows("e")) == ["alert_5_"], "a handle that is taken is not given"
    template.unregister(["b"])
    assert handles_of(template) == ["alert_1", "alert_3", "Alert_5", "alert_5_"]
    with pytest.raises(RunError, match="no registration 'B'"):
        house.templates.of("B")
    with pytest.raises(RunError, match="did you mean '"):
        house.templates.of("alert_2")


def test_numbers_are_never_given_twice(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_module, "FORGET", 3)
    numbers = set()
    offsets = house.folder / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    for batch in range(10):
        template = house.open()
        (offsets / str(batch)).write_text("")
        template.register(rows("a", "b"), ["x", "y"])
        found = {template.number("x"), template.number("y")}
        assert not found & numbers
        numbers |= found
        template.unregister(["x", "y"])
    assert len(template._log.entries()) < 12, "what has ended is forgotten"


def test_what_holds_from_when(house: House) -> None:
    template = house.open()
    template.register(rows("a"))
    template.begin(4)
    template.register(rows("b"))
    template.unregister(["alert_1"])
    assert [(e.kind, e.batch) for e in template._log.entries()] == [(Kind.ADD, 0), (Kind.ADD, 5), (Kind.REMOVE, 5)]
    template = house.open(fresh=True)
    assert {e.batch for e in template._log.entries()} == {0}, "a query that begins anew shows them all it reads"
    assert handles_of(template) == ["alert_2"]


def test_a_planned_batch_is_not_changed(house: House) -> None:
    house.open(fresh=True)
    (house.folder / "checkpoint" / "offsets").mkdir(parents=True)
    (house.folder / "checkpoint" / "offsets" / "7").write_text("")
    template = house.open()
    template.register(rows("a"))
    assert [e.batch for e in template._log.entries()] == [8]
    template._log.file.unlink()
    with pytest.raises(RunError, match="registrations/log is gone\nhelp: bring it back, or DROP QUERY alert"):
        house.open()


def test_a_thousand_statements_are_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    house = House(tmp_path)
    house.templates = Templates(lambda: ["alert"], durable=True)
    house.open()
    synced.clear()
    with connect(tmp_path / "home") as mill:
        mill.catalog.add(house.query)
        monkeypatch.setattr(mill.engine, "templates", house.templates)
        begun, work = time.monotonic(), time.process_time()
        for number in range(1000):
            mill.execute(f"REGISTER alert ('a{number}', 0.5) AS one_{number}")
        seconds, work = time.monotonic() - begun, time.process_time() - work
        template = house.templates.named("alert")
        template.begin(0)
        assert template.count == 1000
    assert work < 2, "seconds of this process, whatever else the machine does"
    assert 0 < len(synced) <= seconds / SYNC_SECONDS + 2, "statements do not wait for the disk, each by itself"


def test_a_bounded_run_begins_when_the_script_is_done(house: House) -> None:
    template = house.open(waits=True)
    begun = threading.Thread(target=template.begin, args=(0,))
    begun.start()
    begun.join(0.05)
    assert begun.is_alive()
    template.register(rows("a"))
    house.templates.let_go()
    begun.join(5)
    assert not begun.is_alive()
    assert [e.batch for e in template._log.entries()] == [0]


def test_patterns_and_values_that_do_not_fit_are_refused(house: House) -> None:
    template = house.open()
    with pytest.raises(RunError, match="no pattern of LIKE"):
        template.register(rows("a\\b"))
    with pytest.raises(Misfit):
        template.register(pa.table({"who": ["a"], "low": ["1"]}))
    assert handles_of(template) == []


def test_answers_go_to_those_that_wait_for_them(house: House) -> None:
    template = house.open()
    template.register(rows("a", "b"), ["a", "b"])
    one = Registration(house.templates, "A")

    def answer(batch: int, *numbers: int) -> pa.Table:
        template.begin(batch)
        return template.share_out(pa.table({NUMBER: list(numbers), "price": [float(batch)] * len(numbers)}, ANSWERS))

    assert answer(0, 0, 1, 0)[NUMBER].to_pylist() == ["a", "b", "a"]
    assert one.invoke("last")["price"].to_pylist() == [0.0, 0.0]
    assert one.invoke("last").num_rows == 0
    template.unregister(["b"])
    assert answer(1, 1, 0)[NUMBER].to_pylist() == ["a"], "of one that has ended"
    template = house.open()
    one = Registration(house.templates, "a")
    assert one.invoke("last")["price"].to_pylist() == [1.0], "what it was given, is known after a restart"
    answer(1, 0)
    assert one.invoke()["price"].to_pylist() == [0.0, 0.0, 1.0], "a batch that comes again counts once"
    assert one.invoke("last").num_rows == 0
    answer(2, *[0] * 9)
    assert template.invoke("a").lost, "more than is kept"
    assert not template.invoke("a", last=True).lost
    with pytest.raises(RunError, match="have no time stamp"):
        template.invoke("a", since=datetime(2024, 1, 1, tzinfo=UTC))


def test_answers_are_trimmed_with_their_files(tmp_path: Path) -> None:
    kept = KeptAnswers(tmp_path, ANSWERS, 5)
    for batch in range(4):
        kept.add(batch, pa.table({NUMBER: [0, 1], "price": [1.0, 2.0]}, ANSWERS))
    assert len(list(tmp_path.glob("*.arrow"))) == 2
    again = KeptAnswers(tmp_path, ANSWERS, 5)
    assert again.of(0).rows.num_rows == 2
    assert again.of(0).lost
    assert not again.of(0, after=1).lost
    assert not again.wait(3, 0.01)
    other = pa.schema([(NUMBER, pa.int64()), ("n", pa.int64())])
    assert KeptAnswers(tmp_path, other, 5).of(0).rows.num_rows == 0, "those of another SELECT"
