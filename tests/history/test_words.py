"""The clauses of history: what they mean, and that their words stay free for names."""

from __future__ import annotations

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Stream
from millstream.catalog.moment import At, Moment
from millstream.catalog.select import HistorySpec
from millstream.language.binder import bind
from millstream.language.bound import Define, Rows
from millstream.language.parse.statements import CreateStream, SelectRows
from millstream.language.parser import parse

HOUR = 3_600_000_000


@pytest.mark.parametrize("text", ["2 hours", "10 GB", "512 KB", "all", "1 day"])
def test_what_is_kept_is_told_as_it_is_written(text: str) -> None:
    (statement,) = parse(f"CREATE STREAM s (a INT) KEEP {text} SOURCE 'csv:x'")
    assert isinstance(statement, CreateStream)
    assert str(statement.keep) == text


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("EARLIEST", Moment(At.EARLIEST), None),
        ("'1970-01-01T01:00:00'", Moment(At.TIME, HOUR), None),
        ("TIMESTAMP '1970-01-01 02:00:00+01:00' UNTIL NOW", Moment(At.TIME, HOUR), Moment(At.NOW)),
        ("NOW - INTERVAL '2' HOUR UNTIL NOW - 1 HOUR", Moment(At.AGO, 2 * HOUR), Moment(At.AGO, HOUR)),
        ("NOW - INTERVAL '60:00' MINUTE TO SECOND", Moment(At.AGO, HOUR), None),
        ("NOW - INTERVAL '1 hour'", Moment(At.AGO, HOUR), None),
    ],
)
@pytest.mark.parametrize("around", ["s SINCE {}", "s SINCE {} AS x", "s AS x SINCE {}", "s SINCE {} x"])
def test_moments(text: str, since: Moment, until: Moment | None, around: str) -> None:
    catalog = Catalog()
    for statement in parse("CREATE STREAM s (a INT, ts TIMESTAMP) ORDER BY ts KEEP ALL SOURCE 'csv:x'"):
        bound = bind(statement, catalog)
        assert isinstance(bound, Define)
        assert isinstance(bound.definition, Stream)
        catalog.add(bound.definition)
    (select,) = parse(f"SELECT a FROM {around.format(text)} WHERE a > 1")
    found = bind(select, catalog)
    assert isinstance(found, Rows)
    assert found.select.source == HistorySpec("s", since, until)
    assert found.select.bounded


@pytest.mark.parametrize(
    "text",
    [
        "SELECT since, until, start, keep FROM s",
        "SELECT start at FROM s",
        "SELECT since.a FROM s AS since",
        "SELECT at.a FROM start at WHERE a > 1",
        "SELECT a FROM s WHERE earliest > now",
    ],
)
def test_their_words_are_names_elsewhere(text: str) -> None:
    (select,) = parse(text)
    assert isinstance(select, SelectRows)
    assert select.start is None


def test_a_start_is_taken_from_the_end_of_a_statement() -> None:
    (select,) = parse("SELECT a FROM (SELECT start AS at FROM s) START AT NOW - INTERVAL '1' HOUR")
    assert isinstance(select, SelectRows)
    assert select.start is not None
    assert select.start.moment == Moment(At.AGO, HOUR)
