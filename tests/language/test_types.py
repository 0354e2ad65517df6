"""The types of expressions, and the mistakes that are found in them."""

import pytest
from sqlglot import parse_one

from millstream.catalog.schema import sql_type, type_name
from millstream.language.parse.spark_dialect import SparkFaithful
from millstream.language.types.checks import check, check_condition
from millstream.language.types.infer import infer

COLUMNS = {
    name: sql_type(type_)
    for name, type_ in {
        "i": "int",
        "b": "bigint",
        "d": "double",
        "dc": "decimal(10,2)",
        "big": "decimal(38,10)",
        "s": "string",
        "v": "varchar(10)",
        "dt": "date",
        "ts": "timestamp",
        "bo": "boolean",
        "bin": "binary",
        "ai": "array<int>",
        "m": "map<string,int>",
        "st": "struct<a:int,b:string>",
    }.items()
}


def typed(text):
    return type_name(infer(parse_one(text, dialect=SparkFaithful), COLUMNS))


def mistakes(text, test=check):
    return test(parse_one(text, dialect=SparkFaithful), COLUMNS)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I + B", "BIGINT"),
        ("dc * dc", "DECIMAL(21, 4)"),
        ("dc / 3", "DECIMAL(14, 6)"),
        ("dc + 3L", "DECIMAL(11, 2)"),
        ("dc + CAST(3 AS BIGINT)", "DECIMAL(23, 2)"),
        ("big * big", "DECIMAL(38, 6)"),
        ("i / 2", "DOUBLE"),
        ("i DIV 2", "BIGINT"),
        ("-2147483648", "INT"),
        ("2147483648", "BIGINT"),
        ("9223372036854775808", "DECIMAL(19, 0)"),
        ("v", "STRING"),
        ("year(ts)", "INT"),
        ("nvl(i, 1)", "INT"),
        ("ts - ts", "INTERVAL DAY TO SECOND"),
        ("dt - dt", "INTERVAL DAY"),
        ("date_trunc('day', ts)", "TIMESTAMP"),
        ("make_date(1, 2, 3)", "DATE"),
        ("CASE WHEN bo THEN i ELSE dc END", "DECIMAL(12, 2)"),
        ("st.a", "INT"),
        ("m['k']", "INT"),
        ("transform(ai, x -> x * 1.5)", "ARRAY<DECIMAL(13, 1)>"),
        ("struct(i, s AS t)", "STRUCT<i: INT, t: STRING>"),
        ("sum(dc)", "DECIMAL(20, 2)"),
        ("sum(i) OVER (ORDER BY ts)", "BIGINT"),
        ("NULL", "NULL"),
        ("no_such_column", "UNKNOWN"),
        ("no_such_function(i)", "UNKNOWN"),
        ("no_such_column + 1", "UNKNOWN"),
        ("no_such_column > 1", "BOOLEAN"),
        ("(SELECT 1)", "UNKNOWN"),
        ("transform(ai)", "UNKNOWN"),
    ],
)
def test_types(text, wanted):
    assert typed(text) == wanted


def test_every_node_gets_its_type():
    tree = parse_one("i + 1 > dc", dialect=SparkFaithful)
    infer(tree, COLUMNS)
    assert [type_name(n.type) for n in (tree, tree.left, tree.right)] == ["BOOLEAN", "INT", "DECIMAL(10, 2)"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("s + 1", "s is STRING, which is no number", "write CAST(s AS DOUBLE)"),
        ("'abc' * i", "'abc' is no number", "numbers are written without quotes"),
        ("'a' + 'b'", "'a' is no number", "|| joins texts"),
        ("bo + 1", "bo is BOOLEAN, which is no number", "IF(bo, 1, 0) makes a number of it"),
        ("ai + 1", "ai is ARRAY<INT>, which is no number", "take a part of it first, by its index or its name"),
        ("d DIV 2", "d is DOUBLE, which DIV does not divide", "DIV divides whole numbers; / divides any"),
        ("d & 1", "d is DOUBLE, and bits are taken of whole numbers", "write CAST(d AS BIGINT)"),
        ("ts + 1", "cannot add TIMESTAMP and INT", "give the number a unit, as in INTERVAL 1 DAY"),
        ("ts + dt", "cannot add TIMESTAMP and DATE", "their difference is an INTERVAL; add an INTERVAL to one of them"),
        ("ts * 2", "cannot multiply TIMESTAMP and INT", "a difference of times is an INTERVAL, and can be"),
        ("1 - dt", "cannot subtract DATE from INT", "the time comes first"),
        ("dt + b", "cannot add DATE and BIGINT: days are counted in INT", "write CAST(b AS INT)"),
        ("INTERVAL 1 DAY + 1", "cannot add INTERVAL DAY and INT", "give the number a unit, as in INTERVAL 1 DAY"),
        ("s > i", "cannot compare STRING with INT", "write CAST(s AS INT)"),
        ("i IN (1, s)", "cannot compare INT with STRING", "write CAST(s AS INT)"),
        ("dt = i", "cannot compare DATE with INT", "compare values of one kind"),
        ("bo = 1", "cannot compare BOOLEAN with INT", "compare bo with TRUE or FALSE"),
        ("i BETWEEN 1 AND dt", "cannot compare INT with DATE", "compare values of one kind"),
        ("ai = 1", "cannot compare ARRAY<INT> with INT", "compare values of one kind"),
        (
            "ts > 'abc'",
            "'abc' is no TIMESTAMP, and is compared with one",
            "times are written as '2024-12-31' or '2024-12-31 23:59:59'",
        ),
        (
            "dt = '2024-02-30'",
            "'2024-02-30' is no DATE, and is compared with one",
            "times are written as '2024-12-31' or '2024-12-31 23:59:59'",
        ),
        ("i = 'one'", "'one' is no INT, and is compared with one", "numbers are written without quotes"),
        ("bo AND i", "AND needs a condition, and i is INT", "compare it, as in i <> 0"),
        ("NOT s", "NOT needs a condition, and s is STRING", "compare it with something"),
        ("CASE WHEN i THEN 1 END", "WHEN needs a condition, and i is INT", "compare it, as in i <> 0"),
        ("CASE i WHEN dt THEN 1 END", "cannot compare INT with DATE", "compare values of one kind"),
        (
            "CASE WHEN bo THEN i ELSE bo END",
            "CASE gives INT and then BOOLEAN",
            "give all of them one type, as with CAST",
        ),
        ("coalesce(i, dt)", "COALESCE gives INT and then DATE", "give all of them one type, as with CAST"),
        ("IF(i, 1, 2)", "IF needs a condition, and i is INT", "compare it, as in i <> 0"),
        ("i LIKE 'a%'", "LIKE needs a STRING, and i is INT", "write CAST(i AS STRING)"),
        ("ts RLIKE 'a'", "RLIKE needs a STRING, and ts is TIMESTAMP", "write CAST(ts AS STRING)"),
        ("-s", "s is STRING and has no negative", "write CAST(s AS DOUBLE)"),
        ("-dt", "dt is DATE and has no negative", "only numbers and intervals have one"),
        ("sum(s)", "SUM needs numbers, and s is STRING", "write CAST(s AS DOUBLE)"),
        ("avg(ts)", "AVG needs numbers, and ts is TIMESTAMP", "COUNT, MIN and MAX take any type"),
        ("upper(s, s)", "UPPER takes 1 argument, not 2", "write UPPER(a)"),
        ("nvl(i)", "NVL takes 2 arguments, not 1", "write NVL(a, b)"),
        ("DATE '2024-13-01'", "'2024-13-01' is no DATE", "times are written as '2024-12-31' or '2024-12-31 23:59:59'"),
        ("transform(ai, x -> x + bo)", "bo is BOOLEAN, which is no number", "IF(bo, 1, 0) makes a number of it"),
    ],
)
def test_mistakes(text, message, hint):
    found = mistakes(text)
    assert [(m.message, m.hint) for m in found] == [(message, hint)]


@pytest.mark.parametrize(
    "text",
    [
        "i + '1'",
        "i = '1'",
        "d > '1e3'",
        "ts > '2024-01-01'",
        "ts > '2024-01-01T10:00:00Z'",
        "dt = s",
        "dt > ts",
        "i > dc",
        "s || i",
        "s = NULL",
        "bo AND NULL",
        "i + NULL",
        "CASE WHEN bo THEN NULL ELSE i END",
        "CASE WHEN bo THEN i ELSE s END",
        "coalesce(i, 'none')",
        "greatest(i, dc)",
        "dt + 1",
        "ts - INTERVAL 1 DAY",
        "INTERVAL 1 DAY * 2",
        "ts - ts > INTERVAL 1 DAY",
        "bo = true",
        "bin = s",
        "unknown_column + 1 > 'a'",
        "no_such_function(i) AND bo",
        "s LIKE 'a%' ESCAPE '/'",
        "DATE 'today'",
        "i IN (SELECT 1)",
        "count(*) > 3",
    ],
)
def test_what_may_be_right_is_left_alone(text):
    assert mistakes(text) == []


def test_conditions():
    assert mistakes("bo", check_condition) == []
    assert mistakes("unknown_column", check_condition) == []
    (found,) = mistakes("i + 1", check_condition)
    assert found.message == "WHERE needs a condition, and i + 1 is INT"


def test_the_innermost_and_leftmost_mistake_comes_first():
    found = mistakes("s + 1 > 2 AND bo + 1 > 2")
    assert [m.message[:2] for m in found] == ["s ", "bo"]
