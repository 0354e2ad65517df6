"""The leaves of expressions as steps: columns and literals."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.expressions.arrow.steps import ColumnOf, Constant, Step
from millstream.expressions.build import constants
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.types import type_of


def column(builder: Builder, node: exp.Expr) -> Step:
    """A column of the table."""
    type_ = to_arrow(type_of(node))
    if type_ is None or node.args.get("table"):
        raise builder.refusal(node)
    return ColumnOf(node.name, type_)


def literal(builder: Builder, node: exp.Expr) -> Step:
    """A number or a text."""
    if node.is_string:
        return Constant(pa.scalar(node.name, pa.string()))
    return builder.written_number(node, node.name)


def boolean(builder: Builder, node: exp.Expr) -> Step:
    """TRUE or FALSE."""
    return Constant(pa.scalar(bool(node.this), pa.bool_()))


def null(builder: Builder, node: exp.Expr) -> Step:
    """NULL."""
    return constants.null(pa.bool_())


def paren(builder: Builder, node: exp.Expr) -> Step:
    """What stands in brackets."""
    return builder.step(node.this)
