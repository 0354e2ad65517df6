"""Texts of expressions: functions, operators, casts and predicates over columns and literals of all types; nested."""

import itertools
from dataclasses import dataclass

from tests.drawing import THOROUGH
from tests.laws.values import POOLS, column

LITERALS = {
    "boolean": ["TRUE"],
    "tinyint": ["3Y"],
    "smallint": ["-7S"],
    "int": ["0", "1", "-1", "2", "3"],
    "bigint": ["9223372036854775807", "2L"],
    "float": ["0.1F"],
    "double": ["1e0", "-0.5D", "1e300"],
    "decimal(5,2)": ["1.5", "0.05"],
    "decimal(20,0)": ["99999999999999999999"],
    "string": ["''", "'a'", "' a '", "'12'", "'2024-02-29'", "'%a_'"],
    "date": ["DATE '2024-02-29'"],
    "timestamp": ["TIMESTAMP '2024-02-29 12:34:56.789'"],
}
NULL = "NULL"

SIGNS = ["+", "-", "*", "/", "%", "DIV", "&", "|", "^", "||", "AND", "OR"]
SIGNS += ["=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM", "LIKE", "NOT LIKE", "ILIKE", "=="]
LENGTHS = [
    "1 DAY",
    "-3 HOURS",
    "1.5 SECONDS",
    "2 WEEKS",
    "1 MONTH",
    "'-13' MONTHS",
    "1 YEAR",
    "250 MILLISECONDS",
    "1 MICROSECOND",
]
PARTS = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "DOW", "DOW_ISO", "DOY", "YEAROFWEEK", "HOUR"]
PARTS += ["MINUTE", "SECOND"]
UNITS = ["microsecond", "millisecond", "second", "minute", "hour", "day", "dd", "DAY", "week", "month", "mon", "mm"]
UNITS += ["quarter", "year", "yyyy", "yy", "decade"]
PATTERNS = [
    r"'a%'",
    r"'%b'",
    r"'_'",
    r"'%a%b%'",
    r"''",
    r"'a.b'",
    r"'a\\%b'",
    r"'%\\\\'",
    r"'É'",
    r"'%s%'",
    r"'straß_'",
]
ESCAPED = [r"'a!%b' ESCAPE '!'", r"'!_%' ESCAPE '!'"]

UNARY = [
    *("- {0}", "+ {0}", "~ {0}", "NOT {0}", "{0} IS NULL", "{0} IS NOT NULL", "{0} IS TRUE", "{0} IS NOT FALSE"),
    *("({0})", "CASE {0} WHEN 1 THEN 'one' WHEN 2 THEN 'two' END", "CASE WHEN {0} THEN 1 END"),
    *(
        "{0} IN (1, 2.5, NULL, 7)",
        "{0} IN ('a', 'ß', '10')",
        "{0} NOT IN (1, 0, -1)",
        "{0} IN (0, 1)",
        "{0} IN ('1', 2)",
        "{0} NOT IN (0, NULL)",
    ),
    *("{0} BETWEEN '2024' AND '2024-3'", "{0} > '2024-02-29T12:00:00Z'", "{0} = '2024-2-29 12:0'", "{0} < 'b'"),
    *(f"{{0}} + INTERVAL {length}" for length in LENGTHS),
    *(f"{{0}} - INTERVAL {length}" for length in LENGTHS),
    *(f"extract({part} FROM {{0}})" for part in PARTS),
    *(f"date_part('{part.lower()}', {{0}})" for part in PARTS),
    *(f"date_trunc('{unit}', {{0}})" for unit in UNITS),
    *(f"{{0}} LIKE {pattern}" for pattern in [*PATTERNS, *ESCAPED]),
    *(f"{{0}} ILIKE {pattern}" for pattern in PATTERNS),
    *(f"CAST({{0}} AS {type_})" for type_ in POOLS),
    *(f"TRY_CAST({{0}} AS {type_})" for type_ in POOLS),
    *(
        "CAST({0} AS DECIMAL(3,3))",
        "CAST({0} AS DECIMAL(38,0))",
        "CAST({0} AS DECIMAL(38,37))",
        "CAST({0} AS DECIMAL(1,0))",
    ),
    *("CAST({0} AS STRING) || '.'", "trim({0})"),
    *(f"trim({where} 'a ' FROM {{0}})" for where in ("BOTH", "LEADING", "TRAILING")),
    *(f"substring({{0}}, {start}, {count})" for start in (-3, -1, 0, 1, 2) for count in (-1, 0, 1, 3, 2147483647)),
    *(f"substring({{0}}, {start})" for start in (-2147483648, -2, 0, 1, 2, 2147483647)),
    *(f"round({{0}}, {digits})" for digits in (-20, -2, -1, 0, 1, 2, 3, 12, 400)),
    "CASE WHEN {0} IS NULL THEN {0} ELSE {0} END",
]
BINARY = [
    *(f"{{0}} {sign} {{1}}" for sign in SIGNS),
    *("{0} IN ({1}, 1)", "{0} IN ({1}, NULL)", "{0} NOT IN ({1})", "CASE {0} WHEN {1} THEN 1 ELSE 2 END"),
    *("CASE WHEN {0} IS NULL THEN {1} ELSE {0} END", "{0} BETWEEN {1} AND {1}", "NOT ({0} = {1})", "NOT ({0} < {1})"),
    *(
        "({0} - {1}) > INTERVAL 1 DAY",
        "({0} - {1}) * 2 <= INTERVAL '-1' SECOND",
        "{0} + ({0} - {1})",
        "{0} + INTERVAL 1 HOUR / {1}",
    ),
    *("trim(BOTH {1} FROM {0})", "trim(LEADING {1} FROM {0})", "trim(TRAILING {1} FROM {0})"),
]
TERNARY = [
    "{0} BETWEEN {1} AND {2}",
    "CASE WHEN {0} THEN {1} ELSE {2} END",
    "CASE {0} WHEN {1} THEN {2} END",
    "{0} IN ({1}, {2})",
]


EVERY = {
    *(f"{{0}} {sign} {{1}}" for sign in ("+", "-", "*", "/", "%", "DIV")),
    *("- {0}", "abs({0})", "floor({0})", "ceil({0})", "pmod({0}, {1})", "round({0}, -1)", "{0} < {1}", "{0} = {1}"),
    *(f"CAST({{0}} AS {type_})" for type_ in POOLS),
}
"""What is computed in another way for each type."""


@dataclass(frozen=True)
class Pattern:
    """A text with places for arguments of these types."""

    text: str
    slots: tuple[str, ...]

    def over_columns(self):
        """The expression over columns: alone it has many values, else every value meets every other."""
        sides = "w" if len(self.slots) == 1 else "abw"
        return self.text.format(*(column(side, type_) for side, type_ in zip(sides, self.slots, strict=False)))


def shapes(names):
    """The texts of all patterns: calls of functions with up to three arguments, and what is no call."""
    for name in names:
        yield from (f"{name}({', '.join(f'{{{i}}}' for i in range(count))})" for count in range(4))
    yield from (*UNARY, *BINARY, *TERNARY)


def typings(text, chance):
    """The patterns that a text makes, in the order in which they are to be tried."""
    count = max((i + 1 for i in range(3) if f"{{{i}}}" in text), default=0)
    alike = [(type_,) * count for type_ in POOLS]
    if count < 2:
        chance.shuffle(alike)
        return [Pattern(text, types[:count]) for types in (alike if count else alike[:1])]
    every = list(itertools.product(POOLS, repeat=count))
    mixed = chance.sample(every, 400 if THOROUGH else 8)
    chance.shuffle(alike)
    found = itertools.chain(*itertools.zip_longest(alike, mixed))
    return [Pattern(text, types) for types in dict.fromkeys(found) if types is not None]


def with_literals(found, chance):
    """The same patterns with literals in some of their places."""
    for pattern in found:
        for written in range(1, 2 ** len(pattern.slots)):
            choices = [
                LITERALS.get(type_, [NULL]) if written >> i & 1 else [column("abw"[i], type_)]
                for i, type_ in enumerate(pattern.slots)
            ]
            texts = [pattern.text.format(*row) for row in itertools.product(*choices)]
            yield from texts if THOROUGH else chance.sample(texts, 1)
        if pattern.slots:
            place = chance.randrange(len(pattern.slots))
            yield pattern.text.format(
                *(NULL if i == place else column("abw"[i], t) for i, t in enumerate(pattern.slots))
            )


class Nesting:
    """Draws expressions of patterns in patterns, whose types fit."""

    def __init__(self, typed):
        self.patterns = [pattern for pattern, _ in typed if pattern.slots]
        self.giving = {}
        for pattern, type_ in typed:
            self.giving.setdefault(type_, []).append(pattern)

    def draw(self, chance, depth):
        """An expression so deep at the most."""
        return self._filled(chance.choice(self.patterns), chance, depth)

    def _filled(self, pattern, chance, depth):
        return pattern.text.format(*(self._argument(type_, chance, depth - 1) for type_ in pattern.slots))

    def _argument(self, type_, chance, depth):
        giving = self.giving.get(type_, ())
        if depth and giving and chance.random() < 0.8:
            return f"({self._filled(chance.choice(giving), chance, depth)})"
        columns = [column(side, type_) for side in "abw"]
        return chance.choice([*columns, *LITERALS.get(type_, ())[:2]])
