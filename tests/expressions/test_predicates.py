"""Conditions on Arrow tables, by hand: where NULL decides, values at the edge, and what is unsupported."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from sqlglot import parse_one

from millstream.catalog.arrow import to_arrow
from millstream.expressions.compile.arrow import arrow_condition, without_arrow_form
from millstream.expressions.words import words
from millstream.language.parse.dialect import Esl
from tests.expressions.drawn_conditions import TYPES, tree


def holds(text, **columns):
    types = {f"a.{name}": TYPES[f"a.{name}"] for name in columns}
    table = pa.table({name: pa.array(columns[name[2:]], to_arrow(type_)) for name, type_ in types.items()})
    return arrow_condition(tree(text))(table).to_pylist()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"a.b"', [True, False, None]),
        ('NOT "a.b"', [False, True, None]),
        ('"a.b" AND NULL', [None, False, None]),
        ('"a.b" OR NULL', [True, None, None]),
        ('"a.b" AND FALSE', [False, False, False]),
        ('"a.b" OR TRUE', [True, True, True]),
        ('"a.b" IS NULL', [False, False, True]),
        ('"a.b" IS NOT NULL', [True, True, False]),
        ('"a.b" IS TRUE', [True, False, False]),
        ('"a.b" IS NOT TRUE', [False, True, True]),
        ('"a.b" IS FALSE', [False, True, False]),
        ('"a.b" IS UNKNOWN', [False, False, True]),
        ('"a.b" = NULL', [None, None, None]),
        ('"a.b" <=> NULL', [False, False, True]),
        ('"a.b" IS DISTINCT FROM TRUE', [False, True, True]),
        ('"a.b" IN (TRUE, NULL)', [True, None, None]),
        ('"a.b" NOT IN (TRUE, NULL)', [False, None, None]),
        ('CASE WHEN "a.b" THEN FALSE ELSE TRUE END', [False, True, True]),
        ('CASE WHEN "a.b" THEN FALSE END', [False, None, None]),
        ('IF("a.b", 1, 2) = 1', [True, False, False]),
        ('coalesce("a.b", TRUE)', [True, False, True]),
        ("1 < 2", [True, True, True]),
        ("NULL <=> NULL", [True, True, True]),
    ],
)
def test_three_valued_logic(text, wanted):
    table = pa.table({"a.b": pa.array([True, False, None])})
    assert arrow_condition(tree(text))(table).to_pylist() == wanted


NAN = math.nan


@pytest.mark.parametrize(
    ("text", "columns", "wanted"),
    [
        ('"a.i" + 1 IS NULL', {"i": [2**31 - 1, 5]}, [True, False]),
        ('"a.l" * 2 > 0', {"l": [2**62, 2**61, -(2**62)]}, [None, True, False]),
        ('-"a.i" > 0', {"i": [-(2**31), -5]}, [None, True]),
        ('abs("a.i") < 0', {"i": [-(2**31), -5]}, [None, False]),
        ('"a.i" / 0 > 1', {"i": [5, None]}, [None, None]),
        ('"a.i" / 2 = 2.5', {"i": [5, 4]}, [True, False]),
        ('"a.i" % 3 = -1', {"i": [-4, 4]}, [True, False]),
        ('"a.d" = "a.d"', {"d": [NAN, None]}, [True, None]),
        ('"a.d" > 1e300', {"d": [NAN, math.inf, 1.0]}, [True, True, False]),
        ('"a.d" = 0', {"d": [-0.0, 0.0]}, [True, True]),
        ('greatest("a.d", 1e0) = 1e0', {"d": [NAN, None, 0.5]}, [False, True, True]),
        ('"a.p" * 1.1 > 1.10', {"p": [Decimal("1.00"), Decimal("1.01")]}, [False, True]),
        ('"a.p" / 3 = 0.333333333333', {"p": [Decimal("1.00")]}, [False]),
        ("\"a.s\" LIKE 'a!%%' ESCAPE '!'", {"s": ["a%x", "abx", "a%\n"]}, [True, False, True]),
        ("\"a.s\" NOT LIKE '_'", {"s": ["ä", "ab", None]}, [False, True, None]),
        ("upper(\"a.s\") = 'STRASSE'", {"s": ["straße", "strasse"]}, [True, True]),
        ("\"a.ts\" < '2024-01-01 01:00:00+02:00'", {"ts": [dt.datetime(2023, 12, 31, 22), None]}, [True, None]),
        ("\"a.dt\" + INTERVAL 1 DAY = DATE '2024-03-01'", {"dt": [dt.date(2024, 2, 29)]}, [True]),
    ],
)
def test_values(text, columns, wanted):
    assert holds(text, **columns) == wanted


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('"a.s" RLIKE \'a\' AND "a.b"', "\"a.s\" RLIKE 'a'"),
        ('round("a.d") > 1', 'round("a.d")'),
        ('"a.ts" + INTERVAL 1 MONTH > "b.ts"', '"a.ts" + INTERVAL 1 MONTH'),
        ('"a.ts" - "b.ts" > INTERVAL 1 DAY', '"a.ts" - "b.ts"'),
        ('"a.s" > "b.ts"', '"a.s"'),
        ("\"a.i\" = '1'", None),
        ("\"a.i\" = '1.5'", "\"a.i\" = '1.5'"),
        ('"a.s" LIKE "b.s"', '"a.s" LIKE "b.s"'),
        ('CAST("a.d" AS STRING) = "a.s"', 'CAST("a.d" AS STRING)'),
        ('substring("a.s", "a.i") = "b.s"', 'substring("a.s", "a.i")'),
        ("\"a.ts\" > TIMESTAMP 'now'", "TIMESTAMP 'now'"),
        ('"a.l" > 1e0 AND "a.l" < 9223372036854775808', '"a.l" < 9223372036854775808'),
        ('-"b.w" > 0', '-"b.w"'),
        ('"a.i" BETWEEN 1 AND 2', None),
    ],
)
def test_what_is_unsupported(text, part):
    found = without_arrow_form(tree(text))
    assert (found and words(found)) == (part and parse_one(part, dialect=Esl).sql(dialect=Esl).replace('"', "`"))


def test_predicates_travel_and_take_empty_and_chunked_tables():
    there = cloudpickle.loads(cloudpickle.dumps(arrow_condition(tree('"a.p" IN (1, 2.5) OR "a.i" + 1 > 2'))))
    part = pa.table(
        {"a.p": pa.array([Decimal("2.50"), None], pa.decimal128(10, 2)), "a.i": pa.array([0, 2], pa.int32())}
    )
    assert there(part).to_pylist() == [True, True]
    assert there(pa.concat_tables([part, part])).to_pylist() == [True] * 4
    assert there(part.slice(1)).to_pylist() == [True]
    assert there(part.slice(2)).to_pylist() == []
