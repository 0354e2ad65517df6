"""Conditions on Arrow tables: by hand where NULL decides, and against Spark for conditions of all kinds."""

import datetime as dt
import math
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812
from sqlglot import parse_one

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import sql_type
from millstream.language.dialect import Esl
from millstream.language.predicates import predicate, unsupported, value
from millstream.language.type_checks import check, check_condition
from millstream.spark.expressions import spark_text

TYPES = {
    name: sql_type(type_)
    for name, type_ in {
        "a.i": "int",
        "b.i": "int",
        "a.l": "bigint",
        "b.l": "bigint",
        "a.n": "smallint",
        "a.d": "double",
        "b.d": "double",
        "a.f": "float",
        "a.p": "decimal(10,2)",
        "b.p": "decimal(10,2)",
        "b.w": "decimal(38,10)",
        "a.s": "string",
        "b.s": "string",
        "a.b": "boolean",
        "b.b": "boolean",
        "a.ts": "timestamp",
        "b.ts": "timestamp",
        "b.nt": "timestamp_ntz",
        "a.dt": "date",
    }.items()
}


def bound(text):
    """A condition as the binder leaves it; None if the binder would refuse it."""
    tree = parse_one(text, dialect=Esl)
    return None if check_condition(tree, TYPES, "ON") else tree


def holds(text, **columns):
    types = {f"a.{name}": TYPES[f"a.{name}"] for name in columns}
    table = pa.table({name: pa.array(columns[name[2:]], to_arrow(type_)) for name, type_ in types.items()})
    return predicate(bound(text), TYPES)(table).to_pylist()


TRUTHS = {"b": [True, False, None]}


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
        ("NULL", [None, None, None]),
        ("1 < 2", [True, True, True]),
        ("NULL <=> NULL", [True, True, True]),
    ],
)
def test_three_valued_logic(text, wanted):
    table = pa.table({"a.b": pa.array([True, False, None])})
    assert predicate(bound(text), TYPES)(table).to_pylist() == wanted


NAN = math.nan


@pytest.mark.parametrize(
    ("text", "columns", "wanted"),
    [
        ('"a.i" + 1 IS NULL', {"i": [2**31 - 1, 5]}, [True, False]),
        ('"a.l" * 2 > 0', {"l": [2**62, 2**61, -(2**62)]}, [None, True, False]),
        ('-"a.i" > 0', {"i": [-(2**31), -5]}, [None, True]),
        ('abs("a.i") < 0', {"i": [-(2**31), -5]}, [True, False]),
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
        ('"a.ts" - "b.ts" > INTERVAL 1 DAY', '"a.ts" - "b.ts" > INTERVAL 1 DAY'),
        ('"a.s" > "b.ts"', '"a.s"'),
        ("\"a.i\" = '1'", "\"a.i\" = '1'"),
        ('"a.s" LIKE "b.s"', '"a.s" LIKE "b.s"'),
        ("\"a.s\" LIKE 'a\\\\b'", "\"a.s\" LIKE 'a\\\\b'"),
        ('CAST("a.d" AS STRING) = "a.s"', '"a.d"'),
        ('substring("a.s", "a.i") = "b.s"', 'substring("a.s", "a.i")'),
        ("\"a.ts\" > TIMESTAMP 'now'", "'now'"),
        ('"a.l" > 1e0 AND "a.l" < 9223372036854775808', '"a.l" < 9223372036854775808'),
        ('-"b.w" > 0', '-"b.w"'),
        ('"a.i" BETWEEN 1 AND 2', None),
    ],
)
def test_what_is_unsupported(text, part):
    found = unsupported(bound(text))
    assert (found and found.sql(dialect=Esl)) == (part and parse_one(part, dialect=Esl).sql(dialect=Esl))


def test_the_part_that_is_unsupported_is_of_the_condition_itself():
    condition = bound('"a.b" AND round("a.d") > 1')
    assert unsupported(condition) is condition.right.left


def test_predicates_travel_and_take_empty_and_chunked_tables():
    there = cloudpickle.loads(cloudpickle.dumps(predicate(bound('"a.p" IN (1, 2.5) OR "a.i" + 1 > 2'), TYPES)))
    part = pa.table(
        {"a.p": pa.array([Decimal("2.50"), None], pa.decimal128(10, 2)), "a.i": pa.array([0, 2], pa.int32())}
    )
    assert there(part).to_pylist() == [True, True]
    assert there(pa.concat_tables([part, part])).to_pylist() == [True] * 4
    assert there(part.slice(1)).to_pylist() == [True]
    assert there(part.slice(2)).to_pylist() == []


# -- against Spark -------------------------------------------------------------------------------------------

POOLS = {
    "int": [0, 1, -1, 2, 7, 2**31 - 1, -(2**31)],
    "bigint": [0, 1, -1, 5, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)],
    "smallint": [0, 1, -1, 2**15 - 1, -(2**15)],
    "double": [0.0, -0.0, 1.0, -1.5, 0.1, 1e300, 5e-324, math.nan, math.inf, -math.inf, 2.0**63],
    "float": [0.0, -0.0, 1.0, 0.10000000149011612, math.nan, math.inf, 3.4028234663852886e38],
    "decimal(10,2)": [Decimal(t) for t in ("0.00", "1.00", "-1.50", "1.10", "0.01", "99999999.99", "-99999999.99")],
    "decimal(38,10)": [Decimal(t) for t in ("0E-10", "1.5", "-0.0000000001", f"{'9' * 28}.{'9' * 10}", "12345.678")],
    "string": ["", "a", "A", "ab", "a%b", "a_b", "ß", "ΑΣ", "İx", "😀b", "é", "a\nb", " a ", "10"],
    "boolean": [True, False],
    "timestamp": [dt.datetime(*t) for t in ((1970, 1, 1), (2024, 2, 29, 12), (2024, 3, 1), (1900, 1, 1, 0, 0, 0, 1))],
    "timestamp_ntz": [dt.datetime(*t) for t in ((1970, 1, 1), (2024, 2, 29, 12), (2024, 3, 1))],
    "date": [dt.date(*t) for t in ((1970, 1, 1), (2024, 2, 29), (2024, 3, 1), (1, 1, 1))],
}


def sample(rows):
    """Rows of values that are likely to make trouble."""
    chance = random.Random(7)
    columns = {}
    for name, type_ in TYPES.items():
        pool = POOLS[type_.sql(dialect="spark").lower().replace(", ", ",")]
        columns[name] = pa.array([chance.choice([None, *pool]) for _ in range(rows)], to_arrow(type_))
    return pa.table(columns)


def joined(pattern, *parts):
    return st.tuples(*parts).map(lambda drawn: pattern.format(*drawn))


def one_of(*patterns, **parts):
    """Texts after patterns, in which {n} stands for a part of that name."""
    chosen = []
    for pattern in patterns:
        names = [piece.split("}")[0] for piece in pattern.split("{")[1:]]
        plain = pattern
        for name in names:
            plain = plain.replace(f"{{{name}}}", "{}")
        chosen.append(joined(plain, *(parts[name[0]] for name in names)))
    return st.one_of(chosen)


def columns(*kinds):
    return [f'"{name}"' for name in TYPES if name.split(".")[1] in kinds]


NUMBERS = [
    "0",
    "1",
    "-1",
    "3",
    "2147483647",
    "-2147483648",
    "9223372036854775807",
    "0.5",
    "1.10",
    "-0.005",
    "3L",
    "1e0",
]
NUMBERS += ["1.5D", "2S", "1.25BD", "0.1F", "-1.5e300", "99999999999999999999.5"]
number = st.recursive(
    st.sampled_from([*columns("i", "l", "n", "d", "f", "p", "w") * 3, *NUMBERS]),
    lambda inner: one_of(
        *(f"({{n}} {sign} {{n}})" for sign in "+-*/%"),
        "(- {n})",
        "abs({n})",
        "greatest({n}, {n})",
        "least({n}, {n})",
        "coalesce({n}, {n})",
        "nvl({n}, 0)",
        "CAST({n} AS {t})",
        "CASE WHEN {b} THEN {n} ELSE {n} END",
        "CASE {n} WHEN 1 THEN {n} WHEN {n} THEN 2 END",
        "length({s})",
        "pmod({n}, {n})",
        "unix_millis({m})",
        n=inner,
        m=st.sampled_from(columns("ts")),
        t=st.sampled_from(
            ["INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "DECIMAL(12,3)", "DECIMAL(38,20)"]
        ),
        b=st.sampled_from(columns("b")),
        s=st.sampled_from(columns("s")),
    ),
    max_leaves=5,
)
text = st.recursive(
    st.sampled_from([*columns("s") * 3, "''", "'a'", "'SS'", "'aß'"]),
    lambda inner: one_of(
        "lower({s})",
        "upper({s})",
        "{s} || {s}",
        "concat({s}, {i}, {s})",
        "substring({s}, {p}, {p})",
        "substr({s}, {p})",
        "coalesce({s}, {s})",
        "greatest({s}, {s})",
        "CASE WHEN {b} THEN {s} END",
        "CAST({i} AS STRING)",
        s=inner,
        i=st.sampled_from(columns("i", "l")),
        p=st.integers(-4, 4).map(str),
        b=st.sampled_from(columns("b")),
    ),
    max_leaves=4,
)
LENGTHS = ["1 DAY", "-3 HOURS", "1.5 SECONDS", "2 WEEKS", "1 DAY 2 HOURS", "250 MILLISECONDS"]
time = st.recursive(
    st.sampled_from(
        [
            *columns("ts", "nt", "dt") * 2,
            "TIMESTAMP '2024-02-29 12:00'",
            "DATE '2024-03-01'",
            "CAST('1970' AS TIMESTAMP)",
        ]
    ),
    lambda inner: one_of(
        "{t} + INTERVAL {i}",
        "{t} - INTERVAL {i}",
        "greatest({t}, {t})",
        "coalesce({t}, {t})",
        "CAST({t} AS DATE)",
        "CAST({t} AS TIMESTAMP)",
        t=inner,
        i=st.sampled_from(LENGTHS),
    ),
    max_leaves=3,
)
SIGNS = ["=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM"]
PATTERNS = ["'a%'", "'%b'", "'_'", "'a!%b' ESCAPE '!'", "'a\\\\_b'", "'%a%b%'", "''", "'a.b'"]
fact = one_of(
    *("{n} {o} {n}",) * 6,
    "{s} {o} {s}",
    "{t} {o} {t}",
    "{t} {o} '2024-02-29 12:00:00'",
    "{b} {o} {b}",
    "{n} BETWEEN {n} AND {n}",
    "{t} NOT BETWEEN {t} AND {t}",
    "{n} IN ({n}, {n})",
    "{c} NOT IN (1, 2.5, NULL, 7)",
    "{n} NOT IN (1, 0, -1)",
    "{s} IN ('a', 'ß', '10')",
    "{t} IN ({t}, TIMESTAMP '2024-03-01 00:00:00')",
    "{s} LIKE {p}",
    "{s} NOT LIKE {p}",
    "{n} IS NULL",
    "{s} IS NOT NULL",
    "{b} IS TRUE",
    "{b}",
    n=number,
    s=text,
    t=time,
    b=st.sampled_from([*columns("b"), "TRUE", "NULL"]),
    c=st.sampled_from(columns("i", "p", "d")),
    o=st.sampled_from(SIGNS),
    p=st.sampled_from(PATTERNS),
)
condition = st.recursive(
    fact,
    lambda inner: one_of("({c} AND {c})", "({c} OR {c})", "NOT ({c})", "(({c}) IS NOT FALSE)", c=inner),
    max_leaves=3,
)


WRITTEN = [
    "\"a.ts\" > '2024-02-29T12:00:00Z'",
    "\"a.ts\" = '2024-2-29 12:0'",
    "\"a.ts\" >= '2024-02-29 12:00:00.123456789'",
    "\"a.ts\" = TIMESTAMP '2024-02-29 14:00:00+02:00'",
    "\"a.ts\" = '2024-02-29 06:30:00 -05:30'",
    "\"b.nt\" < TIMESTAMP_NTZ '2024-03'",
    "\"a.dt\" = '2024-02-29 12:00:00'",
    "\"a.dt\" BETWEEN '2024' AND '2024-3'",
    '"a.n" > -128Y AND -CAST("a.n" AS TINYINT) < 1',
    '"a.l" = 99999999999999999999.5',
    '"a.l" + 1 <=> NULL',
    '"a.i" >= - -2147483648',
    '"b.w" > 5 AND "b.w" < 99999999999999999999999999.12345678901',
    '"b.w" * "b.w" > 1 OR "b.w" / "b.w" = 1 OR "b.w" % 0.7 > 0',
    '"a.p" / "b.p" > 1.1 OR "a.p" % "b.p" = 0.5 OR "a.p" - 1 > "b.i"',
    '"a.d" IN (0, 1) OR "a.f" IN ("a.d", 0.1)',
    '"a.s" < "b.s" AND lower("a.s") <> lower("b.s")',
    'pmod("a.i", 3) = 2 OR pmod("a.l", "b.i") > 0 OR pmod("a.i", 0) IS NULL OR pmod("a.d", "b.d") > 1',
    'unix_seconds("a.ts") > unix_millis("b.ts") OR unix_micros("a.ts") % 2 = 1',
    "(\"a.s\" LIKE '%a_%') IS NULL OR \"b.s\" NOT LIKE 'a\\\\%b'",
    'mod("a.i", 3) = 1 AND IF("a.b", "a.i", "b.l") > 0 AND +"a.d" > 0',
    '"a.ts" BETWEEN "b.ts" - INTERVAL 1 DAY AND "b.ts" + INTERVAL \'36\' HOUR',
    'INTERVAL 90 MINUTES + "a.dt" > "b.nt"',
]


def conditions(count):
    """Conditions that the binder lets pass: ours, and about so many others."""
    found = {text: bound(text) for text in WRITTEN}

    @settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(condition)
    def collect(drawn):
        tree = bound(drawn)
        if tree is not None:
            found[drawn] = tree

    collect()
    return found


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
    trees = {drawn: tree for drawn, tree in conditions(250).items() if unsupported(tree) is None}
    assert len(trees) > 200
    assert all(text in trees for text in WRITTEN)
    frame = spark_frame(quick, table)
    wanted = frame.selectExpr(*(f"{spark_text(tree)} AS c{i}" for i, tree in enumerate(trees.values()))).toArrow()
    wrong = []
    for (drawn, tree), column in zip(trees.items(), wanted.columns, strict=True):
        got = predicate(tree, TYPES)(table).to_pylist()
        for row, (ours, theirs) in enumerate(zip(got, column.to_pylist(), strict=True)):
            if ours is not theirs:
                used = {n: table[n][row].as_py() for n in TYPES if f'"{n}"' in drawn}
                wrong.append(f"{drawn}: {ours}, in Spark {theirs}, for {used}")
                break
    assert not wrong


# -- expressions ---------------------------------------------------------------------------------------------

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
    wanted = frame.selectExpr(*(f"{spark_text(tree)} AS c{i}" for i, tree in enumerate(trees.values()))).toArrow()
    wrong = []
    for (text, tree), field in zip(trees.items(), wanted.schema, strict=True):
        compute, type_ = value(tree, TYPES)
        got = compute(table)
        if not type_ == got.type == field.type:
            wrong.append(f"{text}: said {type_}, is {got.type}, in Spark {field.type}")
        for row, (ours, theirs) in enumerate(zip(got.to_pylist(), wanted[field.name].to_pylist(), strict=True)):
            if not same(ours, theirs):
                used = {n: table[n][row].as_py() for n in TYPES if f'"{n}"' in text}
                wrong.append(f"{text}: {ours}, in Spark {theirs}, for {used}")
                break
    assert not wrong
