"""Statements about aggregates: CREATE, SHOW, DESCRIBE, EXPLAIN, DROP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.catalog.definitions import PythonAggregate, UserAggregate
from millstream.cli.explain import script_plans
from millstream.errors import NameTaken, Refused, UnknownName
from millstream.language.parser import is_complete
from millstream.mill.mill import Mill
from tests.udas import paper

MEAN = "tests.udas.classes:Mean"


@pytest.fixture
def mill() -> Iterator[Mill]:
    with Mill() as opened:
        yield opened


def test_a_base_and_a_window_version_share_a_name(mill: Mill) -> None:
    answers = mill.execute(f"{paper.AVERAGE}; {paper.NAIVE_WINDOW};")
    assert [a.message for a in answers] == ["created aggregate myavg", "created window aggregate myavg"]
    base, window = mill.catalog.aggregate("MyAvg"), mill.catalog.aggregate("myavg", window=True)
    assert isinstance(base, UserAggregate)
    assert isinstance(window, UserAggregate)
    assert (base.window, base.blocking, window.window, window.blocking) == (False, True, True, False)


def test_if_not_exists(mill: Mill) -> None:
    mill.execute(f"{paper.CUMULATIVE};")
    again = paper.CUMULATIVE.replace("AGGREGATE", "AGGREGATE IF NOT EXISTS")
    assert mill.execute(again)[0].message == "cum_avg is already there"
    with pytest.raises(NameTaken, match="already an aggregate"):
        mill.execute(paper.CUMULATIVE)


def test_show(mill: Mill) -> None:
    mill.execute(
        f"{paper.AVERAGE}; {paper.ACTIVE_MAX}; CREATE AGGREGATE g (x DOUBLE) : DOUBLE LANGUAGE PYTHON '{MEAN}'"
    )
    table = mill.execute("SHOW AGGREGATES")[0].table
    assert table is not None
    assert table.to_pylist() == [
        {
            "aggregate": "myavg",
            "kind": "aggregate",
            "parameters": "Next FLOAT",
            "result": "myavg FLOAT",
            "answers": "blocking: it answers when its input or its window ends",
        },
        {
            "aggregate": "active_max",
            "kind": "window aggregate",
            "parameters": "Next FLOAT",
            "result": "active_max FLOAT",
            "answers": "algebraic, non-blocking: it answers while its input comes",
        },
        {
            "aggregate": "g",
            "kind": "aggregate",
            "parameters": "x DOUBLE",
            "result": "g DOUBLE",
            "answers": f"in Python: {MEAN}",
        },
    ]


def test_describe_and_explain(mill: Mill) -> None:
    mill.execute(f"{paper.AVERAGE};")
    described = mill.execute("DESCRIBE myavg")[0]
    assert described.message == "aggregate myavg : myavg FLOAT, blocking: it answers when its input or its window ends"
    assert described.table is not None
    assert described.table.column("column").to_pylist() == ["Next"]
    text = mill.execute("EXPLAIN AGGREGATE myavg")[0].text
    assert text is not None
    assert "self.state_cnt = add_int32(self.state_cnt, 1)" in text
    assert "def fold(starts, ends, next__of" in text


def test_drop(mill: Mill) -> None:
    mill.execute(f"{paper.AVERAGE}; {paper.NAIVE_WINDOW}")
    assert mill.execute("DROP WINDOW AGGREGATE myavg")[0].message == "dropped window aggregate myavg"
    assert mill.catalog.aggregate("myavg") is not None
    mill.execute("DROP AGGREGATE myavg; DROP AGGREGATE IF EXISTS myavg")
    assert mill.catalog.aggregate("myavg") is None


def test_python_aggregates_are_defined_by_their_place(mill: Mill) -> None:
    mill.execute(f"CREATE ALGEBRAIC AGGREGATE g (x DOUBLE) : DOUBLE LANGUAGE PYTHON '{MEAN}'")
    found = mill.catalog.aggregate("g")
    assert isinstance(found, PythonAggregate)
    assert (found.place, found.algebraic, str(found.parameters)) == (MEAN, True, "x DOUBLE")


def test_warnings_come_with_the_answer(mill: Mill) -> None:
    text = "CREATE AGGREGATE f (x INT, y INT) : INT { INITIALIZE: ITERATE: { INSERT INTO RETURN VALUES (x); } };"
    message = mill.execute(text)[0].message
    assert message.startswith("created aggregate f\nwarning in CREATE AGGREGATE: the parameter 'y' is never used")


def test_a_body_is_not_complete_before_its_brace() -> None:
    assert not is_complete("CREATE AGGREGATE f (x INT) : INT { TABLE t (a INT);")
    assert is_complete("CREATE AGGREGATE f (x INT) : INT { TABLE t (a INT); };")


def test_a_parameter_that_a_column_hides_everywhere_is_told(mill: Mill) -> None:
    text = "CREATE AGGREGATE f (x INT) : INT { TABLE t (x INT) AS VALUES (0); INITIALIZE: ITERATE: { %s } };"
    told = mill.execute(text % "INSERT INTO RETURN SELECT x FROM t;")[0].message
    assert told.endswith("help: a column of that name hides it: write f.x for the parameter")
    known = text % "UPDATE t SET x = x + f.x; INSERT INTO RETURN SELECT t.x FROM t;"
    assert mill.execute(f"DROP AGGREGATE f; {known}")[1].message == "created aggregate f"


def test_a_module_is_imported_when_the_statement_is_carried_out(tmp_path: Path) -> None:
    (tmp_path / "loud_module.py").write_text(
        "import pathlib\nfrom tests.udas.classes import Mean\n(pathlib.Path(__file__).parent / 'ran').touch()\n"
    )
    text = """CREATE STREAM s (ts TIMESTAMP, x DOUBLE) ORDER BY ts SOURCE 'csv:s';
        CREATE AGGREGATE loud (x DOUBLE) : DOUBLE LANGUAGE PYTHON 'loud_module:Mean';"""
    select = "SELECT loud(x) [RANGE 1 HOUR] AS m, loud(x + 1) AS n FROM s"
    with Mill(base=tmp_path) as mill:
        mill.check(f"{text} {select}; EXPLAIN {select};")
        plans = script_plans(f"{text} CREATE QUERY q AS {select};", tmp_path)
        assert not (tmp_path / "ran").exists()
        assert "LOUD(x) (as its class can)" in plans["q"][1]
        with pytest.raises(UnknownName):
            mill.execute(f"{text} SELECT nothing FROM s")
        assert not (tmp_path / "ran").exists()
        assert "no reduce_batch" in mill.execute(text)[1].message
        assert (tmp_path / "ran").exists()
        assert "LOUD(x) (running total)" in str(mill.execute(f"EXPLAIN {select}")[0].text)


def test_nothing_is_carried_out_if_a_class_does_not_fit(mill: Mill) -> None:
    with pytest.raises(Refused, match="no Python module 'nowhere'"):
        mill.execute(f"{paper.AVERAGE}; CREATE AGGREGATE g (x DOUBLE) : DOUBLE LANGUAGE PYTHON 'nowhere:F'")
    assert mill.catalog.aggregate("myavg") is None
