"""Arithmetic: `+ - * / %`, DIV, the sign, and the operators of bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from millstream.expressions.build.builder import Builder
from millstream.expressions.build.leaves import written_number
from millstream.expressions.build.steps import call, number
from millstream.expressions.build.time_arithmetic import time_arithmetic
from millstream.expressions.build.types import as_decimal
from millstream.expressions.tree import INT64, NULL, Literal, Type, Value
from millstream.language.parse.spark_dialect import SUFFIX

_NAMES: dict[type[exp.Expr], str] = {exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div", exp.Mod: "mod"}
_BITS: dict[type[exp.Expr], str] = {exp.BitwiseAnd: "bit_and", exp.BitwiseOr: "bit_or", exp.BitwiseXor: "bit_xor"}
_TIMES = frozenset(["date", "timestamp", "timestamp_ntz", "interval", "months"])


def arithmetic(builder: Builder, node: exp.Expr) -> Value:
    """`a + b`, and its like."""
    return computed(builder, node, type(node), node.this, node.expression)


def computed(builder: Builder, node: exp.Expr, operator: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Value:
    """What an operator makes of two parts of a node."""
    sides = [builder.value(left), builder.value(right)]
    if any(side.type.name in _TIMES for side in sides):
        return time_arithmetic(builder, node, operator, *sides)
    type_, name = builder.type(node), _NAMES[operator]
    if type_.name == "null":
        return Literal(None, NULL)
    if type_.name == "decimal":
        return _decimal(builder, node, name, sides, type_)
    fitted = [builder.fitted(value, type_, side) for value, side in zip(sides, (left, right), strict=True)]
    return builder.call(node, "mod_int" if name == "mod" and type_.is_whole else f"{name}_{type_.name}", fitted, type_)


def _decimal(builder: Builder, node: exp.Expr, name: str, sides: Sequence[Value], type_: Type) -> Value:
    fitted = []
    for side in sides:
        own = as_decimal(side.type)
        if own is None:
            raise builder.refusal(node)
        fitted.append(builder.fitted(side, own, node))
    return call(f"{name}_decimal", [*fitted, number(type_.precision), number(type_.scale)], type_)


def whole_division(builder: Builder, node: exp.Expr) -> Value:
    """`a DIV b`."""
    sides = [(builder.value(n), n) for n in (node.this, node.expression)]
    if any(value.type.name == "decimal" for value, _ in sides):
        fitted = [builder.fitted(value, as_decimal(value.type) or INT64, n) for value, n in sides]
        return call("div_whole", fitted, INT64)
    return call("div_int64", [builder.fitted(value, INT64, n) for value, n in sides], INT64)


def negative(builder: Builder, node: exp.Expr) -> Value:
    """`-a`."""
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return written_number(builder, node, f"-{inner.name}")
    if SUFFIX in inner.meta:  # -128Y is a number, 128Y is none
        return replace(written_number(builder, node, f"-{inner.this.name}"), text=f"-{inner.meta[SUFFIX]}")
    return negated(builder, node, builder.value(inner))


def negated(builder: Builder, node: exp.Expr, value: Value) -> Value:
    """A value with the other sign."""
    if value.type.name in {"interval", "months"}:
        return call("neg_int64", [value], value.type)
    type_ = builder.type(node)
    fitted = builder.fitted(value, type_, node)
    return builder.call(node, f"neg_{type_.name}", [fitted], type_)


def bits(builder: Builder, node: exp.Expr) -> Value:
    """`a & b`, and its like."""
    type_ = builder.type(node)
    return call(_BITS[type(node)], [builder.value_as(n, type_) for n in (node.this, node.expression)], type_)


def bit_not(builder: Builder, node: exp.Expr) -> Value:
    """`~a`."""
    type_ = builder.type(node)
    return call("bit_not", [builder.value_as(node.this, type_)], type_)
