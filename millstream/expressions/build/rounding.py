"""Numbers rounded, and without their sign."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millstream.expressions.build.builder import Builder, Unsupported
from millstream.expressions.build.casts import BITS
from millstream.expressions.build.steps import call, number
from millstream.expressions.elementary import known
from millstream.expressions.tree import FLOAT64, INT32, Literal, Value
from millstream.language.parse.call_name import name_of_call


def rounded(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    """`abs(a)`, `floor(a)` and `ceil(a)`."""
    name = (name_of_call(node) or "").removesuffix("ing")
    value, type_ = builder.value(arguments[0]), builder.type(node)
    if value.type.name == "null":
        return Literal(None, type_)
    if name == "abs":
        return builder.call(node, f"abs_{type_.name}", [builder.fitted(value, type_, arguments[0])], type_)
    if value.type.is_whole:
        return call(f"{'ceil' if name == 'ceil' else 'floor'}_int", [value], type_)
    if type_.name == "decimal":
        return call(f"{name}_decimal", [value], type_)
    return call(name, [builder.fitted(value, FLOAT64, arguments[0])], type_)


def round_(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    """`round(a)`, and `round(a, 2)`."""
    value, type_ = builder.value(arguments[0]), builder.type(node)
    digits = builder.argument(arguments[1], INT32) if len(arguments) > 1 else number(0)
    if known(digits) is None:
        message = "ROUND takes a number of digits that is written out"
        raise Unsupported(node, message, "write it like round(x, 2)", mistake=True)
    if type_.name == "decimal":
        scaled = [builder.fitted(value, type_, node)] if value.type.name != "decimal" else [value]
        return call("round_decimal", [*scaled, digits, number(type_.precision), number(type_.scale)], type_)
    if type_.is_whole:
        return call("round_int", [builder.fitted(value, type_, node), digits, number(BITS[type_.name])], type_)
    found = call("round_float", [builder.fitted(value, FLOAT64, node), digits], FLOAT64)
    return builder.fitted(found, type_, node)
