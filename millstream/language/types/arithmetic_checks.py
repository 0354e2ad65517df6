"""Mistakes of type in arithmetic: of numbers, of times and of bits."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millstream.catalog.schema import SqlType, type_name
from millstream.language.types import coercion as c
from millstream.language.types.literals import stands_for
from millstream.language.types.mistake import Mistake, cast_hint, is_free, kind_of, shown, text_of, type_of

SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "divide",
    exp.IntDiv: "divide",
}
BITWISE = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift)


def _number_of(node: exp.Expr) -> str:
    if c.is_boolean(type_of(node)):
        return f"IF({shown(node)}, 1, 0) makes a number of it"
    if c.is_binary(type_of(node)):
        return f"CONV(HEX({shown(node)}), 16, 10) reads a number from bytes"
    return "take a part of it first, by its index or its name"


def arithmetic_mistakes(node: exp.Expr) -> Iterator[Mistake]:
    """Those of `+ - * / %` and DIV."""
    sides = (node.this, node.expression)
    left, right = map(type_of, sides)
    if isinstance(node, exp.IntDiv):
        for side, type_ in zip(sides, (left, right), strict=True):
            if type_.this in (exp.DType.FLOAT, exp.DType.DOUBLE) or c.is_string(type_):
                hint = "DIV divides whole numbers; / divides any"
                yield Mistake(node, f"{shown(side)} is {type_name(type_)}, which DIV does not divide", hint)
                return
    if c.is_unknown(left) or c.is_unknown(right):
        return
    for side, type_, other in ((sides[0], left, right), (sides[1], right, left)):
        if c.is_boolean(type_) or c.is_nested(type_) or c.is_binary(type_):
            yield Mistake(node, f"{shown(side)} is {type_name(type_)}, which is no number", _number_of(side))
            return
        text = text_of(side)
        if c.is_string(type_) and (c.is_numeric(other) or c.is_string(other)):
            if text is None:
                yield Mistake(node, f"{shown(side)} is STRING, which is no number", cast_hint(side, "DOUBLE"))
                return
            if not stands_for(text, c.DOUBLE):
                hint = "|| joins texts" if isinstance(node, exp.Add) else "numbers are written without quotes"
                yield Mistake(node, f"'{text}' is no number", hint)
                return
    yield from _time_arithmetic(node, left, right)


def _time_arithmetic(node: exp.Expr, left: SqlType, right: SqlType) -> Iterator[Mistake]:
    times = [c.is_date(t) or c.is_timestamp(t) for t in (left, right)]
    both = f"{type_name(left)} and {type_name(right)}"
    verb = SIGNS[type(node)]
    number = right if times[0] else left
    if not any(times):
        if isinstance(node, exp.Add | exp.Sub) and sorted(map(c.is_interval, (left, right))) == [False, True]:
            other = right if c.is_interval(left) else left
            if c.is_numeric(other):
                yield Mistake(node, f"cannot {verb} {both}", "give the number a unit, as in INTERVAL 1 DAY")
    elif not isinstance(node, exp.Add | exp.Sub):
        yield Mistake(node, f"cannot {verb} {both}", "a difference of times is an INTERVAL, and can be")
    elif all(times):
        if isinstance(node, exp.Add):
            yield Mistake(node, f"cannot add {both}", "their difference is an INTERVAL; add an INTERVAL to one of them")
    elif times[1] and isinstance(node, exp.Sub) and not c.is_string(left) and not c.is_null(left):
        yield Mistake(node, f"cannot subtract {type_name(right)} from {type_name(left)}", "the time comes first")
    elif c.is_numeric(number):
        whole_days = c.is_date(left if times[0] else right) and c.is_integral(number)
        if not whole_days:
            yield Mistake(node, f"cannot {verb} {both}", "give the number a unit, as in INTERVAL 1 DAY")
        elif number.this is exp.DType.BIGINT:
            side = node.expression if times[0] else node.this
            yield Mistake(node, f"cannot {verb} {both}: days are counted in INT", cast_hint(side, c.INT))


def bitwise_mistakes(node: exp.Expr) -> Iterator[Mistake]:
    """Those of `& | ^ ~ << >>`."""
    for side in (node.this, *([node.expression] if isinstance(node, exp.Binary) else [])):
        type_ = type_of(side)
        shifts = isinstance(node, exp.BitwiseLeftShift | exp.BitwiseRightShift)  # they make a number of a text
        if not is_free(type_) and not c.is_integral(type_) and not (shifts and c.is_string(type_)):
            yield Mistake(
                node,
                f"{shown(side)} is {type_name(type_)}, and bits are taken of whole numbers",
                cast_hint(side, c.BIGINT),
            )
            return


def sign_mistakes(node: exp.Neg) -> Iterator[Mistake]:
    """Those of `-a`."""
    type_ = type_of(node.this)
    if not is_free(type_) and not c.is_numeric(type_) and not c.is_interval(type_) and kind_of(type_) != "other":
        hint = cast_hint(node.this, "DOUBLE") if c.is_string(type_) else "only numbers and intervals have one"
        yield Mistake(node, f"{shown(node.this)} is {type_name(type_)} and has no negative", hint)
