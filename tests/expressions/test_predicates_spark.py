"""Conditions and expressions on Arrow tables against Spark."""

import math

import pytest
from pyspark.sql import functions as F  # noqa: N812
from sqlglot import parse_one

from millstream.expressions.compile.arrow import arrow_condition, arrow_value, without_arrow_form
from millstream.language.parse.dialect import Esl
from millstream.language.types.checks import check
from tests.drawing import rounds
from tests.expressions.drawn_conditions import TYPES, WRITTEN, columns, conditions, sample, typed_tree
from tests.laws.user_sql import user_sql


@pytest.fixture
def quick(spark):
    """Whole-stage code for hundreds of conditions would take most of the time."""
    key = "spark.sql.codegen.wholeStage"
    before = spark.conf.get(key)
    spark.conf.set(key, "false")
    yield spark
    spark.conf.set(key, before)


def spark_frame(spark, table):
    """The table in Spark, which would take a timestamp without a zone for one that has one."""
    return spark.createDataFrame(table).withColumn("b.nt", F.expr("CAST(`b.nt` AS TIMESTAMP_NTZ)"))


@pytest.mark.spark
def test_conditions_mean_what_they_mean_in_spark(quick):
    table = sample(60)
    trees = {drawn: tree for drawn, tree in conditions(250).items() if without_arrow_form(typed_tree(tree)) is None}
    assert len(trees) > rounds(200)
    assert all(text in trees for text in WRITTEN)
    frame = spark_frame(quick, table)
    wanted = frame.selectExpr(*(f"{user_sql(tree)} AS c{i}" for i, tree in enumerate(trees.values()))).toArrow()
    wrong = []
    for (drawn, tree), column in zip(trees.items(), wanted.columns, strict=True):
        got = arrow_condition(typed_tree(tree))(table).to_pylist()
        for row, (ours, theirs) in enumerate(zip(got, column.to_pylist(), strict=True)):
            if ours is not theirs:
                used = {n: table[n][row].as_py() for n in TYPES if f'"{n}"' in drawn}
                wrong.append(f"{drawn}: {ours}, in Spark {theirs}, for {used}")
                break
    assert not wrong


VALUES = [
    *(f"pmod({x}, {y})" for x in columns("i", "l", "d", "n") for y in ('"b.i"', "3", "-3", "0")),
    'pmod("a.d", "b.d")',
    'pmod("a.f", "a.f")',
    'pmod("a.n", "a.n")',
    'pmod("a.l", "b.l")',
    'pmod("a.i", NULL)',
    *(f'{unit}("{name}")' for unit in ("unix_micros", "unix_millis", "unix_seconds") for name in ("a.ts", "b.ts")),
    'unix_millis("a.ts" - INTERVAL 1500 MICROSECONDS)',
    'unix_micros(CAST("a.dt" AS TIMESTAMP))',
    'array("a.i", "b.l", 3)',
    'array("a.i", NULL, "b.i")',
    'array("a.l")',
    'array("a.s", \'x\', lower("b.s"))',
    'array("a.d", "a.i")',
    'array("a.ts", "b.ts")',
    'array("a.b", "b.b")',
    'array("a.p", "b.p")',
    *(f'"a.{x}" {sign} "b.{y}"' for sign in "+-*/%" for x, y in ("ii", "il", "id", "pp", "pi", "dd", "nl", "fi")),
    '"a.n" + "a.n"',
    '"a.n" * 2S',
    '"a.f" + "a.f"',
    '"a.n" + 1',
    '"a.l" + 1',
    '"a.i" * 1.5',
    '-"a.n"',
    '-"a.p"',
    "1 + 2",
    "'x'",
    "NULL IS NULL",
    'CASE WHEN "a.b" THEN "a.i" ELSE "b.l" END',
    'CASE WHEN "a.b" THEN "a.i" WHEN "b.b" THEN 2.5 END',
    'CASE "a.i" WHEN 1 THEN "a.p" ELSE 0 END',
    'CASE WHEN "a.b" THEN NULL ELSE "a.f" END',
    'IF("a.b", "a.n", "a.i")',
    'IF("a.b", "a.p", "b.w")',
    'IF("a.b", "a.dt", "b.ts")',
    'coalesce("a.i", "b.l", 0)',
    'coalesce("a.f", "b.d")',
    'coalesce("a.dt", "b.nt")',
    'greatest("a.i", "b.d")',
    'least("a.n", "b.l")',
    'CAST("a.d" AS INT)',
    'CAST("a.l" AS SMALLINT)',
    'CAST("a.i" AS STRING)',
    'CAST("a.i" AS DOUBLE)',
    'CAST("b.w" AS DECIMAL(12, 3))',
    'CAST("a.p" AS BIGINT)',
    'CAST("a.ts" AS DATE)',
    'CAST("b.nt" AS TIMESTAMP)',
    "CAST(NULL AS BIGINT)",
    'length("a.s") + 1',
    '"a.i" > "b.i"',
    "\"a.i\" = '1' OR \"a.d\" > '0.5'",
    'nullif("a.i", "b.i")',
    'nullif("a.d", "b.d")',
    'nvl2("a.b", "a.i", "b.l")',
    'isnull("a.i") OR isnotnull("b.d")',
    '"a.i" & "b.i" | 5 ^ ~"a.i"',
    '"a.n" & "a.n"',
    'try_add("a.i", "b.i")',
    'try_subtract("a.l", "b.l")',
    'try_multiply("a.l", "b.i")',
    'try_divide("a.d", "b.d")',
    '"a.dt" + 1',
    '"a.dt" - -400',
    'date_add("a.dt", 30)',
    'date_sub("a.dt", -30)',
    'CAST("a.ts" AS BIGINT)',
    'negative("a.i")',
    'negative("a.l")',
    'int("a.l")',
    'bigint("a.d")',
    'tinyint("a.i")',
    'double("a.i")',
    'float("a.l")',
    'string("a.i")',
    'date("a.ts")',
    'coalesce("a.s", "a.i", \'x\')',
    'concat("a.s", "a.i", "b.s")',
    'greatest("a.dt", "b.ts")',
    'CAST("a.l" AS FLOAT)',
    'CAST("b.w" AS FLOAT)',
    'CAST("a.d" AS FLOAT)',
    'CAST("a.n" AS DECIMAL(3, 0))',
    '"a.p" IN (1, 2.5, NULL)',
    '"a.n" IN (1, 70000)',
    *(f'{part}("{c}")' for part in ("year", "month", "quarter", "day", "dayofweek") for c in ("a.dt", "a.ts", "b.nt")),
    *(f'{part}("{c}")' for part in ("hour", "minute", "second") for c in ("a.ts", "b.nt")),
    *(f"date_trunc('{unit}', \"a.ts\")" for unit in ("millisecond", "second", "MINUTE", "hour", "day", "week", "mon")),
    'isnan("a.d")',
    'CAST("a.b" AS BIGINT)',
    *(f'{side}("a.s", {count})' for side in ("left", "right") for count in (-1, 0, 1, 9)),
    *(f"trim({side} 'aß' FROM \"a.s\")" for side in ("BOTH", "LEADING", "TRAILING")),
    'btrim("a.s")',
    *(f"{test}(\"a.s\", '{part}')" for test in ("contains", "startswith", "endswith") for part in ("a", "", "ß", "_")),
    "replace(\"a.s\", 'a', 'bb')",
    "replace(\"a.s\", '', 'x')",
]


def same(ours, theirs):
    """Whether two values are the same one; NaN is, and so are both zeros."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    both = isinstance(ours, float) and isinstance(theirs, float)
    return (both and math.isnan(ours) and math.isnan(theirs)) or ours == theirs


@pytest.mark.spark
def test_expressions_give_what_they_give_in_spark_and_its_types(quick):
    table = sample(120)
    trees = {text: parse_one(text, dialect=Esl) for text in VALUES}
    assert not [text for text, tree in trees.items() if check(tree, TYPES)]
    frame = spark_frame(quick, table)
    wanted = frame.selectExpr(*(f"{user_sql(tree)} AS c{i}" for i, tree in enumerate(trees.values()))).toArrow()
    wrong = []
    for (text, tree), field in zip(trees.items(), wanted.schema, strict=True):
        compute, type_ = arrow_value(typed_tree(tree))
        got = compute(table)
        if not type_ == got.type == field.type:
            wrong.append(f"{text}: said {type_}, is {got.type}, in Spark {field.type}")
        for row, (ours, theirs) in enumerate(zip(got.to_pylist(), wanted[field.name].to_pylist(), strict=True)):
            if not same(ours, theirs):
                used = {n: table[n][row].as_py() for n in TYPES if f'"{n}"' in text}
                wrong.append(f"{text}: {ours}, in Spark {theirs}, for {used}")
                break
    assert not wrong
