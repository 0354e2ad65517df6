"""Comparisons as steps, IN and IS, and the logic that joins them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.expressions.arrow import comparisons as f
from millstream.expressions.arrow.steps import ColumnOf, Constant, Step, applied
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.types import is_beyond, known, meeting, type_of
from millstream.language.types import coercion as c

COMPARISONS: dict[type[exp.Expr], Callable[..., Any]] = {
    exp.EQ: f.equal,
    exp.NEQ: f.not_equal,
    exp.LT: f.less,
    exp.LTE: f.less_equal,
    exp.GT: f.greater,
    exp.GTE: f.greater_equal,
    exp.NullSafeEQ: f.same,
    exp.NullSafeNEQ: f.not_same,
}
_ORDER = (f.less, f.less_equal, f.greater, f.greater_equal)


def comparison(builder: Builder, node: exp.Expr) -> Step:
    """`a < b`, and its like."""
    return compared(builder, node, COMPARISONS[type(node)], node.this, node.expression)


def compared(builder: Builder, node: exp.Expr, function: Callable[..., Any], left: exp.Expr, right: exp.Expr) -> Step:
    """Two parts of a node, compared in the type in which they meet."""
    type_ = meeting(left, right)
    if type_ is None:
        raise builder.refusal(node)
    for side, other in ((left, right), (right, left)):
        # Spark makes TRUE or FALSE of these even for NULL.
        if function in _ORDER and c.is_integral(type_of(side)) and is_beyond(other):
            raise builder.refusal(node)
    return applied(function, builder.step_as(left, type_), builder.step_as(right, type_))


def between(builder: Builder, node: exp.Expr) -> Step:
    """`a BETWEEN b AND c`."""
    if node.args.get("symmetric"):
        raise builder.refusal(node)
    low = compared(builder, node, f.greater_equal, node.this, node.args["low"])
    high = compared(builder, node, f.less_equal, node.this, node.args["high"])
    return applied(pc.and_kleene, low, high)


def in_(builder: Builder, node: exp.Expr) -> Step:
    """`a IN (b, c)`."""
    listed = node.expressions
    if not listed or any(node.args.get(key) for key in ("query", "unnest", "field")):
        raise builder.refusal(node)
    type_ = known(c.widest([type_of(n) for n in (node.this, *listed)], texts=False))
    if type_ is None:
        raise builder.refusal(node)
    value, *steps = (builder.step_as(n, type_) for n in (node.this, *listed))
    constants = [s.value for s in steps if isinstance(s, Constant)]
    if len(constants) == len(steps) and type_.this not in (exp.DType.FLOAT, exp.DType.DOUBLE):
        wanted = pa.array([v.as_py() for v in constants if v.is_valid], to_arrow(type_))
        return applied(partial(f.among, wanted=wanted, with_null=len(wanted) < len(constants)), value)
    return reduce(partial(applied, pc.or_kleene), (applied(f.equal, value, step) for step in steps))


def is_(builder: Builder, node: exp.Expr) -> Step:
    """`a IS NULL`, `a IS TRUE` and `a IS FALSE`."""
    if isinstance(node.expression, exp.Null):
        inner = node.this.unnest()
        if isinstance(inner, exp.Column) and not inner.args.get("table"):
            return applied(pc.is_null, ColumnOf(inner.name, None))
        return applied(pc.is_null, builder.step(node.this))
    if isinstance(node.expression, exp.Boolean):
        return applied(f.is_true if node.expression.this else f.is_false, builder.truth(node.this))
    raise builder.refusal(node)


def not_(builder: Builder, node: exp.Expr) -> Step:
    """`NOT a`."""
    return applied(pc.invert, builder.truth(node.this))


def and_(builder: Builder, node: exp.Expr) -> Step:
    """`a AND b`."""
    return applied(pc.and_kleene, builder.truth(node.this), builder.truth(node.expression))


def or_(builder: Builder, node: exp.Expr) -> Step:
    """`a OR b`."""
    return applied(pc.or_kleene, builder.truth(node.this), builder.truth(node.expression))
