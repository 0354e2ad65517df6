"""Bound expressions on Arrow tables, for what never becomes rows of Spark.

That is what is left of ON when a window join has found the pairs of equal keys, and all that is computed of tuples that
a stage reads by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from millstream.catalog.schema import SqlType
from millstream.expressions.arrow.steps import ArrowExpression
from millstream.expressions.build.builder import Builder, Unsupported
from millstream.expressions.build.nodes import BUILDS
from millstream.expressions.build.types import tree_type
from millstream.expressions.compile.arrow import NoArrowForm, arrow_steps
from millstream.expressions.tree import BOOL, UNKNOWN, Column, Value
from millstream.language.types.infer import infer


def predicate(condition: exp.Expression, types: Mapping[str, SqlType]) -> ArrowExpression:
    """A bound condition as a function of tables that have its columns; it can be pickled.

    ValueError says that a part of it is unsupported.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type
    >>> holds = predicate(parse_one('"a.x" > 1 AND NOT "b.y"'), {"a.x": sql_type("int"), "b.y": sql_type("boolean")})
    >>> holds(pa.table({"a.x": pa.array([1, 2, 3], pa.int32()), "b.y": [None, None, False]})).to_pylist()
    [False, None, True]
    """
    return _compiled(condition, types, truth=True)[0]


def value(expression: exp.Expression, types: Mapping[str, SqlType]) -> tuple[ArrowExpression, pa.DataType]:
    """A bound expression as a function of tables that have its columns, and the type of what it gives.

    ValueError says that a part of it is unsupported.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type
    >>> double, type_ = value(parse_one("x * 2"), {"x": sql_type("int")})
    >>> double(pa.table({"x": pa.array([1, None, 2**30], pa.int32())})).to_pylist(), str(type_)
    ([2, None, None], 'int32')
    """
    return _compiled(expression, types, truth=False)


def unsupported(condition: exp.Expression) -> exp.Expression | None:
    """The first part of a bound condition that cannot be evaluated here; None if all of it can.

    The columns must have their types, as the binder leaves them.
    """
    columns = list(condition.find_all(exp.Column))
    try:
        predicate(condition, {n.name: n.type for n in columns if isinstance(n.type, exp.DataType)})
    except Unsupported as refusal:
        node = refusal.node
    else:
        return None
    assert isinstance(node, exp.Expression)  # noqa: S101
    return node


def _compiled(
    expression: exp.Expression, types: Mapping[str, SqlType], truth: bool
) -> tuple[ArrowExpression, pa.DataType]:
    typed = expression.copy()
    infer(typed, types)
    originals = {id(copied): node for copied, node in zip(typed.walk(), expression.walk(), strict=True)}
    builder = Builder(BUILDS, _column)
    try:
        tree = builder.value_as(typed, BOOL) if truth else builder.value(typed)
        return arrow_steps(tree)
    except Unsupported as refusal:
        raise Unsupported(originals.get(id(refusal.node), expression), str(refusal)) from None
    except NoArrowForm as refusal:
        node = builder.node_of(refusal.value)
        raise Unsupported(originals.get(id(node), expression), str(refusal)) from None


def _column(node: exp.Column) -> Value:
    type_ = tree_type(node.type) if isinstance(node.type, exp.DataType) else None
    if node.args.get("table"):
        raise Unsupported(node, f"{node.sql()} is no column of a table at hand")
    return Column(node.name, type_ or UNKNOWN)
