"""Bound conditions and other expressions on Arrow tables, for what never becomes rows of Spark.

That is what is left of ON when a window join has found the pairs of equal keys, and all that is computed of tuples that
a stage reads by itself. An expression means here what it means in the text that Spark gets, see
`millstream.spark.expressions`: a step that fails for one row gives NULL there.

A builder (`predicate_builder`) turns an expression into steps (`predicate_steps`), with a function for each kind of
node: those are in the other `predicate_` files. What the steps compute on Arrow arrays is in the `arrow_` files.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from millstream.catalog.arrow import carried
from millstream.catalog.schema import SqlType, type_name
from millstream.expressions.arrow.steps import ColumnOf, Predicate, Whole
from millstream.expressions.build import calls as predicate_calls
from millstream.expressions.build import casts as predicate_casts
from millstream.expressions.build import choices as predicate_choices
from millstream.expressions.build import comparisons as predicate_comparisons
from millstream.expressions.build import leaves as predicate_leaves
from millstream.expressions.build import numbers as predicate_numbers
from millstream.expressions.build import texts as predicate_texts
from millstream.expressions.build.builder import Build, Builder, Unsupported
from millstream.expressions.build.types import type_of
from millstream.language.types.infer import infer

_BUILDS: Mapping[type[exp.Expr], Build] = {
    exp.Column: predicate_leaves.column,
    exp.Literal: predicate_leaves.literal,
    exp.Boolean: predicate_leaves.boolean,
    exp.Null: predicate_leaves.null,
    exp.Paren: predicate_leaves.paren,
    **dict.fromkeys(predicate_comparisons.COMPARISONS, predicate_comparisons.comparison),
    exp.Between: predicate_comparisons.between,
    exp.In: predicate_comparisons.in_,
    exp.Is: predicate_comparisons.is_,
    exp.Not: predicate_comparisons.not_,
    exp.And: predicate_comparisons.and_,
    exp.Or: predicate_comparisons.or_,
    exp.Case: predicate_choices.case,
    exp.If: predicate_choices.if_,
    exp.Coalesce: predicate_choices.coalesce,
    exp.Greatest: predicate_choices.extreme,
    exp.Least: predicate_choices.extreme,
    **dict.fromkeys(predicate_numbers.ARITHMETIC, predicate_numbers.arithmetic),
    exp.IntDiv: predicate_numbers.whole_division,
    exp.Neg: predicate_numbers.negative,
    exp.Cast: predicate_casts.cast,
    exp.TryCast: predicate_casts.cast,
    exp.Like: predicate_texts.like,
    exp.Escape: predicate_texts.escape,
    exp.DPipe: predicate_texts.pipe,
    exp.Substring: predicate_texts.substring,
    exp.Anonymous: predicate_calls.call,
}
"""What can be evaluated: the function that makes a step of each kind of node."""


def predicate(condition: exp.Expression, types: Mapping[str, SqlType]) -> Predicate:
    """A bound condition as a function of tables that have its columns; it can be pickled.

    ValueError says that a part of it is unsupported.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type
    >>> holds = predicate(parse_one('"a.x" > 1 AND NOT "b.y"'), {"a.x": sql_type("int"), "b.y": sql_type("boolean")})
    >>> holds(pa.table({"a.x": pa.array([1, 2, 3], pa.int32()), "b.y": [None, None, False]})).to_pylist()
    [False, None, True]
    """
    builder, typed = _prepared(condition, types)
    return Whole(builder.truth(typed))


def unsupported(condition: exp.Expression) -> exp.Expression | None:
    """The first part of a bound condition that cannot be evaluated here; None if all of it can.

    The columns must have their types, as the binder leaves them.
    """
    columns = list(condition.find_all(exp.Column))
    try:
        predicate(condition, {n.name: n.type for n in columns if isinstance(n.type, exp.DataType)})
    except Unsupported as refusal:
        return refusal.node
    return None


def value(expression: exp.Expression, types: Mapping[str, SqlType]) -> tuple[Predicate, pa.DataType]:
    """A bound expression as a function of tables that have its columns, and the type of what it gives.

    ValueError says that a part of it is unsupported.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type
    >>> double, type_ = value(parse_one("x * 2"), {"x": sql_type("int")})
    >>> double(pa.table({"x": pa.array([1, None, 2**30], pa.int32())})).to_pylist(), str(type_)
    ([2, None, None], 'int32')
    """
    builder, typed = _prepared(expression, types)
    type_ = carried(type_of(typed))
    if type_ is None:
        raise Unsupported(expression)
    column = typed
    while isinstance(column, exp.Cast | exp.Paren) and type_name(type_of(column.this)) == type_name(type_of(column)):
        column = column.this
    # A column as it is may be an array; nothing is computed of these.
    plain = isinstance(column, exp.Column) and not column.args.get("table")
    return Whole(ColumnOf(column.name, type_) if plain else builder.step(typed)), type_


def _prepared(expression: exp.Expression, types: Mapping[str, SqlType]) -> tuple[Builder, exp.Expression]:
    typed = expression.copy()
    infer(typed, types)
    originals = {id(copied): node for copied, node in zip(typed.walk(), expression.walk(), strict=True)}
    return Builder(_BUILDS, originals), typed
