"""Arithmetic as steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.expressions.arrow import decimals as arrow_decimals
from millstream.expressions.arrow import numbers as arrow_numbers
from millstream.expressions.arrow.steps import Step, applied
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.times import shifted
from millstream.expressions.build.types import has_negative, is_time, type_of
from millstream.language.parse.spark_dialect import SUFFIX
from millstream.language.types import coercion as c
from millstream.language.types import decimals

ARITHMETIC: dict[type[exp.Expr], Callable[..., Any]] = {
    exp.Add: arrow_numbers.add,
    exp.Sub: arrow_numbers.subtract,
    exp.Mul: arrow_numbers.multiply,
    exp.Div: arrow_numbers.divide,
    exp.Mod: arrow_numbers.remainder,
}
_DECIMALS: dict[type[exp.Expr], Callable[..., Any]] = {
    exp.Add: arrow_decimals.decimal_add,
    exp.Sub: arrow_decimals.decimal_subtract,
    exp.Mul: arrow_decimals.decimal_multiply,
    exp.Div: arrow_decimals.decimal_divide,
    exp.Mod: arrow_decimals.decimal_remainder,
}


def arithmetic(builder: Builder, node: exp.Expr) -> Step:
    """`a + b`, and its like."""
    if is_time(type_of(node)):
        return shifted(builder, node)
    return computed(builder, node, type(node), node.this, node.expression)


def computed(builder: Builder, node: exp.Expr, operator: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Step:
    """Two parts of a node, and what an operator makes of these numbers."""
    type_, sides = type_of(node), (left, right)
    if not c.is_numeric(type_) or any(c.is_string(type_of(side)) for side in sides):
        raise builder.refusal(node)
    if not c.is_decimal(type_):
        return applied(ARITHMETIC[operator], *(builder.step_as(side, type_) for side in sides))
    digits = [decimals.digits(type_of(side)) for side in sides]
    steps = [builder.step_as(s, decimals.decimal(*has)) for s, has in zip(sides, digits, strict=True) if has]
    if len(steps) < 2:
        raise builder.refusal(node)
    return applied(partial(_DECIMALS[operator], type_=to_arrow(type_)), *steps)


def whole_division(builder: Builder, node: exp.Expr) -> Step:
    """`a DIV b`."""
    sides = node.this, node.expression
    if not all(c.is_integral(type_of(side)) for side in sides):
        raise builder.refusal(node)
    return applied(arrow_numbers.whole_divide, *(builder.step_as(side, c.BIGINT) for side in sides))


def negative(builder: Builder, node: exp.Expr) -> Step:
    """`-a`."""
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return builder.written_number(node, f"-{inner.name}")
    if SUFFIX in inner.meta:  # -128Y is a number, 128Y is none
        return builder.written_number(node, f"-{inner.this.name}")
    if not has_negative(type_of(inner)):
        raise builder.refusal(node)
    return applied(arrow_numbers.negate, builder.step(inner))
