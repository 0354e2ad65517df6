"""What the shell offers while one types."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from millstream.catalog.catalog import Catalog
from millstream.cli.completer import EslCompleter
from millstream.connectors.contract import Role
from millstream.connectors.registry import kinds
from millstream.language.binder import bind
from millstream.language.parse.standing.registrations import REGISTRATIONS
from millstream.language.parser import SHOWN, statements
from millstream.language.trial.dry_run import dry_run

SCRIPT = """
CREATE STREAM bid (item_id INT, price DOUBLE) SOURCE 'csv:bids';
CREATE STREAM visit (page STRING, visitor STRING) SOURCE 'json:visits';
CREATE TABLE item (item_id INT, category INT) SOURCE 'parquet:items';
CREATE STREAM dear AS SELECT price FROM bid WHERE price > 9;
CREATE SINK alerts TO 'json:out';
CREATE QUERY hot AS SELECT price FROM bid;
CREATE TABLE note (word STRING);
CREATE STREAM fed (n INT);
CREATE VIEW best KEY (item_id) AS SELECT item_id, price FROM bid;
"""


@pytest.fixture
def completer(tmp_path: Path) -> EslCompleter:
    catalog = Catalog()
    for statement in statements(SCRIPT):
        dry_run(bind(statement, catalog), catalog)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "bids.csv").touch()
    return EslCompleter(lambda: catalog, ["\\?", "\\d", "\\i", "\\stop", "\\timing"], tmp_path)


def offered(completer: EslCompleter, text: str, after: str = "", *, asked: bool = False) -> list[str]:
    document = Document(text + after, len(text))
    return [c.text for c in completer.get_completions(document, CompleteEvent(completion_requested=asked))]


def test_keywords_come_in_the_case_that_is_typed(completer: EslCompleter) -> None:
    assert offered(completer, "sel") == ["select"]
    assert offered(completer, "SEL") == ["SELECT"]
    assert offered(completer, "Sel") == ["SELECT"]


def test_keywords_keep_the_case_of_the_statement(completer: EslCompleter) -> None:
    assert offered(completer, "show ") == [w.lower() for w in (*SHOWN, REGISTRATIONS, "VERSIONS OF")]
    assert offered(completer, "SHOW ") == [*SHOWN, REGISTRATIONS, "VERSIONS OF"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHOW S", ["STREAMS", "SINKS", "SHARING", "SETTINGS"]),
        ("SET ", ["trigger_interval", "results_kept", "heartbeats", "buckets", "reader", "sharing"]),
        ("DROP ", ["STREAM", "TABLE", "VIEW", "SINK", "QUERY", "AGGREGATE"]),
        ("DROP QUERY ", ["hot"]),
        ("STOP QUERY ", ["hot", "best"]),
        ("START ", ["QUERY"]),
        ("ALTER QUERY ", ["hot", "best"]),
        ("ALTER QUERY hot ", ["AS SELECT", "WINDOW [", "RENAME TO"]),
        ("ALTER STREAM bid ", ["SET (", "RENAME TO"]),
        ("ALTER STREAM bid SET (", ["SLACK =", "AHEAD =", "IDLE AFTER =", "ON BAD FILE ="]),
        ("ALTER STREAM bid RENAME TO ", []),
        ("CREATE OR REPLACE ", ["STREAM", "TABLE", "VIEW", "SINK", "QUERY", "AGGREGATE"]),
        ("SHOW VERSIONS OF QUERY ", ["hot", "best"]),
        ("DROP STREAM IF EXISTS ", ["bid", "visit", "dear", "fed"]),
        ("INSERT ", ["INTO"]),
        ("INSERT INTO a", ["alerts"]),
        ("INSERT INTO n", ["note"]),
        ("INSERT INTO f", ["fed"]),
        ("UPDATE ", ["note"]),
        ("UPDATE note SET ", ["word"]),
        ("DELETE FROM ", ["note"]),
        ("DELETE FROM note WHERE w", ["word"]),
        ("SUBSCRIBE ", ["hot", "best"]),
        ("DROP VIEW ", ["best"]),
        ("CREATE VIEW v ", ["KEY"]),
        ("DESCRIBE h", ["hot"]),
        ("CREATE STREAM ", []),
        ("SELECT * FROM ", ["bid", "visit", "item", "dear", "note", "fed", "best"]),
        ("SELECT * FROM B", ["bid", "best"]),
        ("SELECT * FROM bid, v", ["visit"]),
        ("SHOW STREAMS; SELECT 1 FROM it", ["item"]),
        ("SELECT * FROM bid.", ["REJECTED"]),
        ("SELECT ';' FROM vi", ["visit"]),
    ],
)
def test_names_that_fit_the_place(completer: EslCompleter, text: str, expected: list[str]) -> None:
    assert offered(completer, text) == expected


def test_columns_of_the_relations_in_from(completer: EslCompleter) -> None:
    assert offered(completer, "SELECT 1 FROM bid WHERE pri")[0] == "price"
    assert "page" not in offered(completer, "SELECT 1 FROM bid WHERE pa")
    assert offered(completer, "SELECT pri", " FROM bid")[0] == "price"


def test_all_columns_before_there_is_a_from(completer: EslCompleter) -> None:
    assert offered(completer, "SELECT pag") == ["page"]
    assert "item_id" in offered(completer, "SELECT ite")


def test_columns_after_a_qualifier(completer: EslCompleter) -> None:
    assert offered(completer, "SELECT b.", " FROM bid AS b") == ["item_id", "price"]
    assert offered(completer, "SELECT b.p", " FROM bid b WHERE x") == ["price"]
    assert offered(completer, "SELECT visit.") == ["page", "visitor"]


def test_functions_without_the_forbidden_ones(completer: EslCompleter) -> None:
    assert "count_if" in offered(completer, "SELECT coun")
    assert offered(completer, "SELECT java_me") == []


def test_a_menu_of_everything_only_when_asked(completer: EslCompleter) -> None:
    assert offered(completer, "SELECT ") == []
    assert "price" in offered(completer, "SELECT ", asked=True)
    assert offered(completer, "") == []
    assert "SELECT" in offered(completer, "", asked=True)


def test_addresses(completer: EslCompleter) -> None:
    assert offered(completer, "CREATE STREAM s (a INT) SOURCE '") == [f"{k}:" for k in kinds(Role.STREAM)]
    assert offered(completer, "CREATE TABLE t (a INT) SOURCE 'p") == ["parquet:", "postgres:"]
    assert offered(completer, "CREATE STREAM s (a INT) SOURCE 'c") == ["csv:"]
    assert offered(completer, "CREATE SINK s TO '") == [f"{k}:" for k in kinds(Role.SINK)]
    assert offered(completer, "CREATE STREAM s (a INT) SOURCE 'csv:da") == ["ta"]
    assert offered(completer, "CREATE STREAM s (a INT) SOURCE 'csv:data/b") == ["ids.csv"]


def test_options_of_the_kind_of_source(completer: EslCompleter) -> None:
    assert "header" in offered(completer, "CREATE STREAM s (a INT) SOURCE 'csv:x' OPTIONS (")
    assert offered(completer, "CREATE STREAM s (a INT) SOURCE 'tcp:1' OPTIONS (host = 'h', f") == ["format"]
    assert "partition_by" in offered(completer, "CREATE SINK s TO 'csv:x' OPTIONS (")
    assert offered(completer, "CREATE SINK s TO 'tcp:1' OPTIONS (") == []


@pytest.mark.parametrize("text", ["SELECT 'pri", "SELECT -- pri", "SELECT /* pri", "SELECT 12", "SELECT 'a' || 'se"])
def test_nothing_inside_texts_comments_and_numbers(completer: EslCompleter, text: str) -> None:
    assert offered(completer, text) == []


def test_commands(completer: EslCompleter) -> None:
    assert offered(completer, "\\t") == ["\\timing"]
    assert offered(completer, "\\stop ") == ["hot", "best"]
    assert offered(completer, "\\d vi") == ["visit"]
