"""What Spark gets of a tree gives what the SQL of the user gives, in the forgiving forms, and in the same type.

All functions of Spark are called over all types, alone and in each other; and all expressions are compared that are
bound for the statements of the pages, the examples and the tests.
"""

import random

import pytest
from pyspark.errors import PySparkException
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from millstream.catalog.schema import type_name
from millstream.expressions.build import bound
from millstream.expressions.build.builder import Builder
from millstream.expressions.compile.spark import spark_text
from millstream.expressions.reading import draws_lots, walk
from millstream.expressions.tree import OnlySpark
from millstream.language.binder import bind
from millstream.language.parse.dialect import Esl
from millstream.language.parser import statements
from millstream.language.types import functions
from millstream.language.types.checks import check
from millstream.language.types.infer import infer
from tests.drawing import THOROUGH, rounds
from tests.language.meanings import snapshot
from tests.language.mutations import corpus
from tests.laws import texts
from tests.laws.user_sql import user_sql
from tests.laws.values import NAMES, TYPES, table

pytestmark = [pytest.mark.spark]

MOVING = {
    "current_timestamp",
    "now",
    "localtimestamp",
    "current_date",
    "curdate",
    "unix_timestamp",
    "spark_partition_id",
}
"""Functions whose values are others in the next query."""

GROUP = 120


@pytest.fixture(scope="module")
def frame(spark):
    """A table of values of all types that make trouble."""
    key = "spark.sql.codegen.wholeStage"
    before = spark.conf.get(key)
    spark.conf.set(key, "false")
    found = spark.createDataFrame(table().slice(0, 200).select(sorted(TYPES)))
    yield found.selectExpr(
        *(f"CAST({n} AS TIMESTAMP_NTZ) AS {n}" if n.endswith("ts_ntz") else n for n in found.columns)
    ).cache()
    spark.conf.set(key, before)


def compared(frame, pairs):
    """How texts for Spark differ from those of users: in words, for each pair that does."""
    found, accepted = [], {}
    for name, texts_ in pairs.items():
        if _bare(texts_[0]) == _bare(texts_[1]):
            continue
        types = [_type(frame, text) for text in texts_]
        if types[0] != types[1]:
            found.append(f"{name} as {texts_[1]}: {types[1]}, not {types[0]}")
        elif types[0] is not None:
            accepted[name] = texts_
    names = list(accepted)
    for start in range(0, len(names), GROUP):
        found += _compared(frame, {name: accepted[name] for name in names[start : start + GROUP]})
    return found


def _bare(text):
    return text.replace("`", "").replace('"', "").replace("(", "").replace(")", "")


def _type(frame, text):
    """The type that Spark finds; None if it refuses a text."""
    try:
        return frame.selectExpr(f"{text} AS v").schema["v"].dataType.simpleString()
    except PySparkException:
        return None


def _compared(frame, pairs):
    try:
        return _asked(frame, pairs)
    except PySparkException as error:
        if len(pairs) > 1:
            names = list(pairs)
            halves = names[: len(names) // 2], names[len(names) // 2 :]
            return [told for half in halves for told in _compared(frame, {n: pairs[n] for n in half})]
        ((name, (user, tree)),) = pairs.items()
        fails = [_fails(frame, text) for text in (user, tree)]
        return [] if fails[0] else [f"{name} as {tree}: {str(error).splitlines()[0][:200]}"]


def _fails(frame, text):
    """Whether a text stops the query: that of a tree may not where that of the user does not."""
    try:
        frame.selectExpr(f"to_json(named_struct('v', {text})) AS v").collect()
    except PySparkException:
        return True
    return False


def _asked(frame, pairs):
    both = [
        f"to_json(named_struct('v', {text})) AS {side}{i}"
        for i, pair in enumerate(pairs.values())
        for side, text in zip("ut", pair, strict=True)
    ]
    values = frame.selectExpr(*both).toArrow()
    found = []
    for i, (name, (_, tree)) in enumerate(pairs.items()):
        user, ours = values[f"u{i}"].to_pylist(), values[f"t{i}"].to_pylist()
        if user != ours:
            wrong = next((a, b) for a, b in zip(ours, user, strict=True) if a != b)
            found.append(f"{name} as {tree}: {wrong[0]}, not {wrong[1]}")
    return found


def pair(text, types=TYPES):
    """An expression as its user has it and as its tree is written, and its type; None if the binder would refuse it."""
    try:
        parsed = parse_one(text, dialect=Esl)
    except SqlglotError:
        return None
    if check(parsed, types):
        return None
    infer(parsed, types)
    tree = bound.tree_of(parsed)
    return None if _is_moving(tree) else (user_sql(parsed), spark_text(tree), type_name(parsed.type))


def _is_moving(tree):
    return draws_lots(tree) or any(
        isinstance(part, OnlySpark) and (part.name in MOVING or functions.makes_rows(part)) for part in walk(tree)
    )


SCALARS = [n for n in functions.names() if functions.kind(n) is functions.Kind.SCALAR and n not in functions.FORBIDDEN]


def drawn(chance):
    """Patterns of all functions, operators, casts and predicates, each in some types."""
    for shape in texts.shapes(SCALARS):
        yield from texts.typings(shape, chance)[: 40 if THOROUGH else 3]


def test_functions_operators_and_casts(frame):
    chance = random.Random(3)
    found = {p: made for p in drawn(chance) if (made := pair(p.over_columns())) is not None}
    assert len(found) > 2000
    told = compared(frame, {p.over_columns(): made[:2] for p, made in found.items()})
    assert not told, "\n".join([f"{len(told)} differ", *told])
    typed = [(p, type_.lower().replace(", ", ",")) for p, (_, _, type_) in found.items()]
    nesting = texts.Nesting(typed)
    nested = [nesting.draw(chance, 2) for _ in range(rounds(250))]
    pairs = {text: made[:2] for text in nested if (made := pair(text)) is not None}
    told = compared(frame, pairs)
    assert not told, "\n".join([f"{len(told)} differ", *told])


# -- what is bound -------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(monkeypatch):
    """The expressions that become trees, by their texts."""
    found = {}

    class Recording(Builder):
        def value(self, node):
            outermost = not self._made
            made = super().value(node)
            if outermost:
                found.setdefault(node.sql(dialect=Esl), (node, made))
            return made

    monkeypatch.setattr(bound, "Builder", Recording)
    return found


def test_all_that_is_bound(frame, recorded):
    for case in corpus():
        for statement in statements(case.text):
            bind(statement, snapshot(case.catalog))
    pairs = {}
    for node, tree in recorded.values():
        columns = {c.name: c.type for c in node.find_all(exp.Column)}
        if _is_moving(tree) or not all(isinstance(t, exp.DataType) and sample(t) for t in columns.values()):
            continue
        pairs[node.sql(dialect=Esl)] = (over_samples(user_sql(node), columns), over_samples(spark_text(tree), columns))
    assert len(pairs) > 200
    told = compared(frame, pairs)
    assert not told, "\n".join([f"{len(told)} differ", *told])


def over_samples(text, columns):
    """An expression over columns of any type, each made of those of the table."""
    for name, type_ in columns.items():
        text = f"transform(array({sample(type_)}), `{name}` -> {text})[0]" if name not in TYPES else text
    return text


def sample(type_):
    """Values of a type, in SQL; None where there is nothing to show."""
    name = type_name(type_).lower().replace(", ", ",")
    if name in NAMES:
        return f"w_{NAMES[name]}"
    if type_.is_type("decimal"):
        return f"CAST(w_dec38_10 AS {name})"
    if type_.is_type("varchar", "char", "text"):
        return "w_string"
    if type_.is_type("binary"):
        return "CAST(w_string AS BINARY)"
    inner = [sample(t) for t in type_.expressions if isinstance(t, exp.DataType)]
    if None in inner:
        return None
    if type_.is_type("array") and inner:
        return f"array({inner[0]}, {inner[0].replace('w_', 'b_')}, NULL)"
    if type_.is_type("map") and inner:
        return f"map(coalesce({inner[0]}, CAST(0 AS {type_name(type_.expressions[0])})), {inner[1]})"
    if type_.is_type("struct"):
        fields = [(f.name, sample(f.args["kind"])) for f in type_.expressions]
        return (
            None
            if any(s is None for _, s in fields)
            else f"named_struct({', '.join(f'{n!r}, {s}' for n, s in fields)})"
        )
    return None
