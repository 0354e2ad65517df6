"""Conditions of all kinds, drawn at random, and a table of values that are likely to make trouble."""

import datetime as dt
import math
import random
from decimal import Decimal

import pyarrow as pa
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sqlglot import parse_one

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import sql_type
from millstream.expressions.build.bound import tree_of
from millstream.language.parse.dialect import Esl
from millstream.language.types.checks import check_condition
from millstream.language.types.infer import infer
from tests.drawing import drawn

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


def tree(text, types=TYPES):
    """The tree of an expression."""
    return typed_tree(bound(text) if types is TYPES else parse_one(text, dialect=Esl), types)


def typed_tree(parsed, types=TYPES):
    """The tree of an expression that was parsed."""
    infer(parsed, types)
    return tree_of(parsed)


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


NUMBERS = ["0", "1", "-1", "3", "2147483647", "-2147483648", "9223372036854775807", "0.5", "1.10", "-0.005"]
NUMBERS += ["3L", "1e0", "1.5D", "2S", "1.25BD", "0.1F", "-1.5e300", "99999999999999999999.5"]
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
    """Conditions that the binder lets pass: ours, and about so many others in a thorough run."""
    found = {text: bound(text) for text in WRITTEN}

    @settings(drawn(count), derandomize=True, database=None, phases=[Phase.generate])
    @given(condition)
    def collect(text):
        tree = bound(text)
        if tree is not None:
            found[text] = tree

    collect()
    return found
