"""Casts as steps."""

from __future__ import annotations

from sqlglot import exp

from millstream.expressions.arrow.steps import Step
from millstream.expressions.build import constants
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.types import type_of
from millstream.language.parse.spark_dialect import SUFFIX
from millstream.language.types import coercion as c


def cast(builder: Builder, node: exp.Expr) -> Step:
    """`CAST(a AS INT)`, and literals that say their type: `2L`, `DATE '2024-02-29'`."""
    from_, type_, inner = type_of(node.this), type_of(node), node.this.unnest()
    if SUFFIX in node.meta and isinstance(inner, exp.Literal):  # 2L, 1.5BD
        return builder.written_number(node, inner.name)
    if c.is_string(from_) and not c.is_string(type_):
        return builder.written_time(inner, type_)
    if c.is_null(from_):
        return constants.null(builder.carried_type(node))
    return builder.step_as(node.this, type_)
