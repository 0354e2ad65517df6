"""The leaves of expressions: columns, literals and intervals."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from millstream.expressions.build.builder import Builder
from millstream.expressions.build.types import sql_type_of, tree_type
from millstream.expressions.functions.decimals import MOST_DIGITS
from millstream.expressions.functions.floats import float32
from millstream.expressions.tree import BOOL, INTERVAL, MONTHS, NULL, STRING, Literal, Type, Value
from millstream.intervals import interval
from millstream.language.parse import written_values
from millstream.language.parse.dialect import Esl
from millstream.language.parse.spark_dialect import SUFFIX


def column(builder: Builder, node: exp.Expr) -> Value:
    """A column."""
    assert isinstance(node, exp.Column)  # noqa: S101
    return builder.columns(node)


def inner(builder: Builder, node: exp.Expr) -> Value:
    """What stands in brackets, or has another name."""
    return builder.value(node.this)


def literal(builder: Builder, node: exp.Expr) -> Value:
    """A number or a text."""
    if node.is_string:
        return Literal(str(node.this), STRING)
    return written_number(builder, node, node.name)


def null(builder: Builder, node: exp.Expr) -> Value:
    """NULL."""
    return Literal(None, NULL)


def boolean(builder: Builder, node: exp.Expr) -> Value:
    """TRUE or FALSE."""
    return Literal(bool(node.this), BOOL)


def written_number(builder: Builder, node: exp.Expr, text: str) -> Literal:
    """A number that is written out, in the type that the node has."""
    type_ = builder.type(node)
    value = number(text, type_)
    if value is None:
        raise builder.refusal(node)
    return Literal(value, type_, str(node.meta[SUFFIX]) if SUFFIX in node.meta else text)


def number(text: str, type_: Type) -> int | float | Decimal | None:
    """The number that a text says; None if it does not fit its type, as 200Y, or has more digits than decimals have."""
    if type_.name == "decimal":
        return Decimal(text) if type_.precision <= MOST_DIGITS else None
    if type_.is_float:
        value = float(text)
        return float(float32(value)) if type_.name == "float32" else value
    most = 2 ** (int(type_.name.removeprefix("int")) - 1)
    return int(text) if -most <= int(text) < most else None


def length(builder: Builder, node: exp.Expr) -> Value:
    """INTERVAL 5 SECONDS."""
    unit = node.args.get("unit")
    amount = str(node.this.name) if isinstance(node.this, exp.Literal) else ""
    words = f"{amount} {unit.name}" if isinstance(unit, exp.Var) else amount
    sign = -1 if words.strip().startswith("-") else 1
    words = words.strip().lstrip("+-")
    count, _, name = words.partition(" ")
    months = {"YEAR": 12, "MONTH": 1}.get(name.strip().upper().removesuffix("S"))
    if months and count.isdigit():
        return Literal(sign * months * int(count), _type(node, MONTHS), node.sql(dialect=Esl))
    micros = written_values.micros(node)
    if micros is not None:
        return Literal(micros, _type(node, INTERVAL), node.sql(dialect=Esl))
    try:
        found = interval(words)
    except (ValueError, OverflowError):
        message = f"this INTERVAL cannot be used {builder.place}"
        raise builder.refusal(node, message, "write it as INTERVAL 5 SECONDS") from None
    micros = sign * (found.days * 86_400_000_000 + found.seconds * 10**6 + found.microseconds)
    return Literal(micros, _type(node, INTERVAL), node.sql(dialect=Esl))


def _type(node: exp.Expr, plain: Type) -> Type:
    """The type of an interval, with its units where the binder knows them."""
    found = tree_type(sql_type_of(node))
    return found if found == plain and found is not None else plain
