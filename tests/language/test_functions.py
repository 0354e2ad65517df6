"""The table of functions, the names of calls, and the texts that come back from the dialect."""

from typing import ClassVar

import pytest
from sqlglot import exp, parse_one

from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spark_dialect import TYPED, SparkFaithful
from millstream.language.types import functions
from millstream.language.types.functions import FORBIDDEN, Kind, is_aggregate, kind, names


def parse(text):
    return parse_one(text, dialect=SparkFaithful)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("upper", Kind.SCALAR),
        ("TRY_CAST", Kind.SCALAR),
        ("Sum", Kind.AGGREGATE),
        ("any", Kind.AGGREGATE),
        ("vector_avg", Kind.AGGREGATE),
        ("row_number", Kind.WINDOW),
        ("explode", Kind.GENERATOR),
        ("variant_explode", Kind.GENERATOR),
        ("range", Kind.TABLE),
        ("no_such_function", None),
        ("+", None),
    ],
)
def test_kinds(name, wanted):
    assert kind(name) is wanted


def test_names_are_in_order_and_without_operators():
    assert list(names()) == sorted(names())
    assert len(names()) > 500
    assert all(name.isidentifier() for name in names())


def test_the_table_is_read_once(monkeypatch):
    kind("upper")
    monkeypatch.setattr(functions.resources, "files", lambda _: pytest.fail("read again"))
    assert kind("lower") is Kind.SCALAR


def test_forbidden_functions_exist_in_spark_but_for_identifier():
    assert {name for name in FORBIDDEN if kind(name) is None} == {"identifier"}
    assert {"reflect", "java_method", "try_reflect"} <= FORBIDDEN.keys()


@pytest.mark.parametrize(
    "text", ["reflect('a', 'b')", "`reflect`('a')", "builtin.REFLECT('a')", "system.builtin.reflect('a', 'b')"]
)
def test_a_forbidden_function_is_seen_however_it_is_written(text):
    assert any(name_of_call(node) in FORBIDDEN for node in parse(text).walk())


def test_no_program_runs_by_transform():
    assert name_of_call(parse("transform(a, x -> x)")) == "transform"
    with pytest.raises(Exception, match="Invalid expression"):
        parse("SELECT TRANSFORM(a) USING 'cat' AS b FROM t")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Upper(x)", "upper"),
        ("date_trunc('hour', x)", "date_trunc"),
        ("COUNT(DISTINCT x)", "count"),
        ("corr(x, y)", "corr"),
        ("if(a, b, c)", "if"),
        ("extract(YEAR FROM x)", "extract"),
        ("trim(BOTH 'x' FROM y)", "trim"),
        ("substring(x FROM 2)", "substring"),
        ("current_date", "current_date"),
        ("current_timestamp()", "current_timestamp"),
        ("no_such(x)", "no_such"),
        ("exists(a, x -> x)", "exists"),
        ("exists(SELECT 1)", None),
        ("CAST(x AS INT)", None),
        ("x::int", None),
        ("a AND b", None),
        ("a OR b", None),
        ("NOT a", None),
        ("a + b", None),
        ("a % b", None),
        ("a || b", None),
        ("a RLIKE b", None),
        ("a[0]", None),
        ("x", None),
        ("1", None),
        ("INTERVAL 1 DAY", None),
        ("CASE WHEN a THEN b END", None),
    ],
)
def test_the_name_of_a_call(text, wanted):
    assert name_of_call(parse(text)) == wanted


def test_a_when_is_no_call_of_if():
    assert [name_of_call(n) for n in parse("CASE WHEN a THEN b END").find_all(exp.If)] == [None]


def test_aggregates():
    assert is_aggregate(parse("sum(x)"))
    assert is_aggregate(parse("listagg(x, ',')"))
    assert not is_aggregate(parse("upper(x)"))
    assert not is_aggregate(parse("row_number()"))
    assert not is_aggregate(parse("x"))


@pytest.mark.parametrize("name", sorted(TYPED))
def test_functions_with_nodes_of_their_own_come_back_as_they_were(name):
    written = set()
    for count in range(5):
        text = f"{name}({', '.join('abcd'[:count])})"
        try:
            written.add(parse(text).sql(dialect=SparkFaithful) == text)
        except Exception:  # not that many arguments
            continue
    assert written == {True}
    assert kind(name) is not None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("DATE_SUB(d, 1)", None),
        ("UNIX_DATE(d)", None),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a)", None),
        ("LISTAGG(DISTINCT a)", None),
        ("a & b << 2", None),
        ("DATE 'today'", None),
        ("TIME '10:00:00'", None),
        ("2L + 1.5BD", None),
        ("CAST(2 AS BIGINT)", None),
        ("MAX(a, b)", None),
        ("+a", "POSITIVE(a)"),
        ("a - INTERVAL 1 DAY 2 HOURS", "a - (INTERVAL '1' DAY + INTERVAL '2' HOURS)"),
        ("INTERVAL '1' DAY + 2 * x", None),
        ("interval - 1", None),
        ("DATEADD(DAY, 1, d)", None),
        ("SELECT * FROM VALUES 1, 2 AS t(x)", "SELECT * FROM VALUES (1), (2) AS t(x)"),
    ],
)
def test_texts_keep_their_meaning(text, wanted):
    assert parse(text).sql(dialect=SparkFaithful) == (wanted or text)


def test_a_unit_is_no_column():
    assert not list(parse("dateadd(DAY, 1, CURRENT_DATE)").find_all(exp.Column))


def test_the_dialect_can_be_built_upon():
    class Mine(SparkFaithful):
        class Parser(SparkFaithful.Parser):
            FUNCTIONS: ClassVar = {**SparkFaithful.Parser.FUNCTIONS, "MINE": exp.Upper.from_arg_list}

    assert isinstance(parse_one("mine(x)", dialect=Mine), exp.Upper)
    assert parse_one("date_sub(d, 2L)", dialect=Mine).sql(dialect=Mine) == "DATE_SUB(d, 2L)"
