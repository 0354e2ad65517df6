"""What only Spark computes: its functions and constructs, around values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from millstream.expressions.build.builder import Builder
from millstream.expressions.build.types import sql_type_of, tree_type
from millstream.expressions.tree import UNKNOWN, Lambda, OnlySpark, Parameter, Type, Value
from millstream.expressions.written import quoted, type_text
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.dialect import Esl

_WITH_SYNTAX = (exp.Trim, exp.Extract, exp.Substring, exp.Overlay, exp.StrPosition, exp.Cast)
"""Calls with words of their own between the brackets."""

_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
}


def only_spark(builder: Builder, node: exp.Expr) -> Value:
    """A part as Spark's own, its arguments being values."""
    type_ = _type(node)
    if isinstance(node, exp.Lambda):
        return Lambda(tuple(p.name for p in node.expressions), builder.value(node.this), type_)
    if isinstance(node, exp.Identifier):
        return Parameter(node.name, type_)
    if isinstance(node, exp.Interval):
        return OnlySpark("interval", (), type_, (node.sql(dialect=Esl),))
    if isinstance(node, exp.Cast):
        return only_spark_cast(builder.value(node.this), tree_type(node.to), node)
    name = name_of_call(node)
    if name is not None and not isinstance(node, _WITH_SYNTAX) and _is_plain(node):
        given = node.expressions if isinstance(node, exp.Anonymous) else list(node.iter_expressions())
        return OnlySpark(name, tuple(_argument(builder, name, part) for part in given), type_)
    return _construct(builder, node, name or _SIGNS.get(type(node)) or node.key, type_)


def only_spark_cast(value: Value, to: Type | None, node: exp.Cast | None = None) -> OnlySpark:
    """A cast that only Spark can do."""
    target = node.to.sql(dialect=Esl) if node is not None else type_text(to or UNKNOWN)
    literal = node is not None and type(node) is exp.Cast
    if literal and node is not None and node.this.is_string and not node.sql(dialect=Esl).startswith("CAST"):
        return OnlySpark("literal", (), to or UNKNOWN, (node.sql(dialect=Esl),))
    return OnlySpark("cast", (value,), to or UNKNOWN, ("CAST(", f" AS {target})"))


def _type(node: exp.Expr) -> Type:
    return tree_type(sql_type_of(node)) or UNKNOWN if node.type is not None else UNKNOWN


def _is_plain(node: exp.Expr) -> bool:
    """Whether a call is a name and its arguments, and nothing else is said in it."""
    said = {key for key, value in node.args.items() if value not in (None, [], False)}
    return said <= {"this", "expressions", "true", "false", "expression"}


def _argument(builder: Builder, name: str, node: exp.Expr) -> Value:
    match node:
        case exp.Alias():
            return OnlySpark("as", (builder.value(node.this),), UNKNOWN, ("", f" AS {quoted(node.alias)}"))
        case exp.Kwarg():
            return OnlySpark("=>", (builder.value(node.expression),), UNKNOWN, (f"{node.name} => ", ""))
        case exp.Var() | exp.DataType():
            return OnlySpark("word", (), UNKNOWN, (node.sql(dialect=Esl),))
    value = builder.value(node)
    if name == "struct" and isinstance(
        node.unnest(), exp.Column
    ):  # a field is named after its column, whatever becomes of that
        return OnlySpark("as", (value,), UNKNOWN, ("", f" AS {quoted(node.unnest().name)}"))
    return value


_HOLE = re.compile("`?§(\\d+)§`?")


def _construct(builder: Builder, node: exp.Expr, name: str, type_: Type) -> Value:
    """Anything else: its text, with holes for the values in it."""
    copy, values = node.copy(), []
    for part, original in _values(copy, node):
        values.append(builder.value(original))
        part.replace(exp.column(exp.to_identifier(f"§{len(values) - 1}§", quoted=True)))
    text = copy.sql(dialect=Esl)
    pieces, order, last = [], [], 0
    for hole in _HOLE.finditer(text):
        pieces.append(text[last : hole.start()])
        order.append(values[int(hole.group(1))])
        last = hole.end()
    assert len(order) == len(values), text  # noqa: S101
    return OnlySpark(name, tuple(order), type_, (*pieces, text[last:]))


def _values(copy: exp.Expr, node: exp.Expr) -> Sequence[tuple[exp.Expr, exp.Expr]]:
    """The parts of a construct that are values, in the copy and in the original."""
    found: list[tuple[exp.Expr, exp.Expr]] = []
    for part, original in zip(list(copy.iter_expressions()), list(node.iter_expressions()), strict=True):
        field = isinstance(node, exp.Dot) and original is node.expression and isinstance(original, exp.Identifier)
        if field or isinstance(part, exp.Var | exp.DataType | exp.IntervalSpan):
            continue
        within = isinstance(node, exp.Escape) and isinstance(part, exp.Like | exp.ILike)
        if within or (isinstance(part, exp.If | exp.Tuple | exp.Any | exp.All) and not isinstance(node, exp.Anonymous)):
            found += _values(part, original)
        else:
            found.append((part, original))
    return found
