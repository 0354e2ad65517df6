"""One meaning of expressions: what Arrow, bodies of aggregates and kernels compute is what Spark gives, bit for bit.

What is compared comes from the registries: every function that an evaluator besides Spark knows, over all types.
"""

import math
import random
import re
from decimal import Decimal

import pytest

from millstream.catalog.schema import type_name
from millstream.expressions.functions.registry import FUNCTIONS
from millstream.udas.arrow import to_values
from tests.drawing import THOROUGH, rounds
from tests.laws import texts
from tests.laws.forms import as_tree, as_user, computed, known_names, of_spark, settle
from tests.laws.kept import KEPT
from tests.laws.values import POOLS, table

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")]

APPROXIMATE = re.compile(r"\b(sin|cos|tan)\(")
"""Functions whose last bit Java leaves to the machine."""

DIGITS_OF_JAVA = {"float_text", "float32_text", "float_to_decimal"}
"""Functions that depend on how many digits a fraction is written with: Java writes more than needed before Java 19."""

EACH = 400 if THOROUGH else 3
"""So many typings of a function or an operator are compared; of arithmetic and casts, those over every type."""


def some(chance):
    """Patterns that are computed by others than Spark, some for each function and operator."""
    found = {}
    for shape in texts.shapes(known_names()):
        taken = 0
        for pattern in texts.typings(shape, chance):
            if taken == (2 * len(POOLS) if shape in texts.EVERY else EACH):
                break
            made = computed(pattern.over_columns())
            if made is not None:
                found[pattern] = made
                taken += 1
    return found


def bits(value):
    """What tells values from each other: also the sign of zero, and the digits of a decimal. NaN is one value."""
    match value:
        case list():
            return tuple(map(bits, value))
        case float():
            return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
        case Decimal():
            return value.as_tuple()
    return value


def near(mine, wanted):
    """Whether two numbers are neighbours at the most."""
    numbers = isinstance(mine, float) and isinstance(wanted, float)
    return numbers and (abs(mine - wanted) <= math.ulp(wanted))


def difference(given, ours, theirs):
    """How a form differs from Spark, in words; None if it does not."""
    if isinstance(theirs, str):
        # An error that ends the query, where an evaluator of ours has an answer.
        own = "NUMERIC_VALUE_OUT_OF_RANGE" in theirs or "ESC_AT_THE_END" in theirs or "ESC_IN_THE_MIDDLE" in theirs
        return None if own else f"is refused by Spark: {theirs}"
    if ours.type != theirs.type:
        return f"{ours.type}, in Spark {theirs.type}"
    if ours.equals(theirs) and "double" not in str(ours.type) and "float" not in str(ours.type):
        return None
    loose = APPROXIMATE.search(given.text) is not None
    for row, (mine, wanted) in enumerate(zip(to_values(ours), to_values(theirs), strict=True)):
        if bits(mine) != bits(wanted) and not (loose and near(mine, wanted)):
            used = {n: to_values(table()[n].combine_chunks().slice(row, 1))[0] for n in given.reads}
            return f"{mine!r}, in Spark {wanted!r}, for {used}"
    return None


def wrong(spark, made):
    """What is wrong with the forms of some expressions."""
    wanted = of_spark(spark, [each.given for each in made])
    found = list(wrong_in_spark(spark, [each.given for each in made], wanted))
    for each in made:
        for name, form in each.forms.items():
            try:
                told = difference(each.given, form(), wanted[each.given.text])
            except Exception as error:
                told = f"fails with {type(error).__name__}: {error}"
            if told is not None:
                found.append(f"{name}: {each.given.text}: {told}")
    return found


def wrong_in_spark(spark, expressions, wanted):
    """What is wrong with the trees of some expressions as they are written to Spark."""
    others = [e for e in expressions if as_tree(e).replace("`", "") != as_user(e).replace("`", "").replace('"', "")]
    found = of_spark(spark, others, as_tree)
    for each in others:
        ours, theirs = found[each.text], wanted[each.text]
        if isinstance(ours, str) or isinstance(theirs, str):
            told = None if isinstance(ours, str) and isinstance(theirs, str) else f"{ours}, and as SQL {theirs}"
        else:
            told = difference(each, ours, theirs)
        if told is not None:
            yield f"tree to Spark: {each.text} as {as_tree(each)}: {told}"


def assert_same(spark, made):
    """All forms of some expressions give what Spark gives."""
    found = wrong(spark, list(made))
    assert not found, "\n".join([f"{len(found)} differ", *found])


@pytest.fixture(scope="module")
def ready(spark):
    """Spark, without the compiling of each query as a whole, which would take most of the time."""
    key = "spark.sql.codegen.wholeStage"
    before = spark.conf.get(key)
    spark.conf.set(key, "false")
    settle(spark)
    yield spark
    spark.conf.set(key, before)


@pytest.fixture(scope="module")
def found(ready):
    return some(random.Random(1))


def test_what_was_wrong_once(ready):
    made = [m for text in KEPT if (m := computed(text)) is not None]
    assert len(made) > 0.9 * len(KEPT)
    assert_same(ready, made)


def test_functions_operators_casts_and_predicates(ready, found):
    assert_same(ready, found.values())


def test_literals_and_nested_expressions(ready, found):
    chance = random.Random(2)
    written = list(texts.with_literals(found, chance))
    drawn = written if THOROUGH else chance.sample(written, 150)
    exact = {p: f for p, f in found.items() if not APPROXIMATE.search(p.text) and not f.calls & DIGITS_OF_JAVA}
    nesting = texts.Nesting([(p, type_name(f.given.type).lower().replace(", ", ",")) for p, f in exact.items()])
    drawn += [nesting.draw(chance, depth) for depth in (2, 3) for _ in range(rounds(900))]
    made = {text: m for text in drawn if (m := computed(text)) is not None}
    assert len(made) > rounds(1200)
    assert_same(ready, made.values())


def test_the_law_reaches_every_function_of_every_evaluator(found):
    called = set().union(*(each.calls for each in found.values()))
    assert not FUNCTIONS.keys() - called
    assert {type_ for pattern in found for type_ in pattern.slots} == POOLS.keys()
