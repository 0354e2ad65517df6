"""Operators bind as in Spark, which is not as in sqlglot: its own text has brackets where the order shows."""

import pytest

from millstream.catalog.schema import sql_type
from millstream.expressions.words import words
from tests.expressions.drawn_conditions import tree

TYPES = {**dict.fromkeys("abc", sql_type("int")), "s": sql_type("string"), "t": sql_type("string")}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a & b << 2", "a & (b << 2)"),
        ("a | b ^ c & 1", "a | (b ^ (c & 1))"),
        ("s || a + b", "(s || a) + b"),
        ("a + b || s", "(a + b) || s"),
        ("a = b < c", "(a = b) < c"),
        ("a < b IN (TRUE, FALSE)", "(a < b) IN (TRUE, FALSE)"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("s LIKE t || '%'", "s LIKE (t || '%')"),
        ("NOT a = b AND c > 1", "(NOT (a = b)) AND (c > 1)"),
        ("a - b - c", "(a - b) - c"),
    ],
)
def test_the_order_is_that_of_spark(written, meant):
    assert tree(written, TYPES) == tree(meant, TYPES)


@pytest.mark.parametrize("text", ["a - (b - c)", "(a + b) * c", "NOT (a > 1 AND b > 1)", "(a = b) = (b = c)", "-(-a)"])
def test_brackets_stay_where_they_are_needed(text):
    assert words(tree(text, TYPES)) == text.replace("(a = b) = ", "a = b = ")
