"""Choices: CASE, IF, NULLIF, and the first value that is not NULL, the greatest and the least."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millstream.expressions.build.builder import Builder
from millstream.expressions.build.comparisons import compared
from millstream.expressions.build.steps import call
from millstream.expressions.tree import Call, Case, Literal, Value


def case(builder: Builder, node: exp.Expr) -> Value:
    """`CASE WHEN a THEN b ELSE c END`, and `CASE a WHEN b THEN c END`."""
    type_ = builder.type(node)
    branches = []
    for branch in node.args["ifs"]:
        condition = compared(builder, node, "eq", node.this, branch.this) if node.this else builder.truth(branch.this)
        branches.append((condition, builder.value_as(branch.args["true"], type_)))
    default = node.args.get("default")
    return Case(tuple(branches), builder.value_as(default, type_) if default else Literal(None, type_), type_)


def if_(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    """`IF(a, b, c)`."""
    type_ = builder.type(node)
    condition, *values = arguments
    return call("if", [builder.truth(condition), *(builder.value_as(n, type_) for n in values)], type_)


def nvl2(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    """`nvl2(a, b, c)`: b where a is not NULL."""
    type_ = builder.type(node)
    return call("nvl2", [builder.value(arguments[0]), *(builder.value_as(n, type_) for n in arguments[1:])], type_)


def nullif(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    """`nullif(a, b)`."""
    equal = compared(builder, node, "eq", *arguments)
    assert isinstance(equal, Call)  # noqa: S101
    first = builder.value(arguments[0])
    return call("nullif", [first, *equal.arguments], first.type)


def among(builder: Builder, node: exp.Expr, name: str, arguments: Sequence[exp.Expr]) -> Value:
    """`coalesce(a, b)`, `greatest(a, b)` and `least(a, b)`."""
    type_ = builder.type(node)
    fitted = [builder.value_as(n, type_) for n in arguments]
    return call(name, fitted, type_)
