"""Bound expressions to trees: made once, when all names and types are known."""

from __future__ import annotations

from sqlglot import exp

from millstream.catalog.schema import SqlType
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.casts import cast
from millstream.expressions.build.nodes import BUILDS
from millstream.expressions.build.only_spark import only_spark, only_spark_cast
from millstream.expressions.build.types import sql_type_of, tree_type
from millstream.expressions.tree import UNKNOWN, Column, Value
from millstream.language.parse.written import text_of


def tree_of(node: exp.Expr) -> Value:
    """The tree of an expression whose parts know their types.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type
    >>> from millstream.expressions.words import words
    >>> from millstream.language.types.infer import infer
    >>> node = parse_one("x + 1 > y AND nobody_knows(x)", dialect="spark")
    >>> type_ = infer(node, {"x": sql_type("int"), "y": sql_type("double")})
    >>> words(tree_of(node))
    'x + 1 > y AND NOBODY_KNOWS(x)'
    """
    return Builder(BUILDS, _column, otherwise=only_spark).value(node)


def column_of(name: str, type_: SqlType) -> Column:
    """A column by its name, whatever is in it."""
    return Column(name, tree_type(type_) or UNKNOWN)


def cast_to(value: Value, type_: SqlType) -> Value:
    """A value as `CAST(a AS t)` makes it."""
    to = tree_type(type_)
    found = None if to is None else cast(value, to)
    return only_spark_cast(value, to) if found is None else found


def _column(node: exp.Column) -> Value:
    return Column(node.name, tree_type(sql_type_of(node)) or UNKNOWN, text_of(node))
