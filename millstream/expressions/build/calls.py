"""Calls of functions that have no node of their own, as steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from sqlglot import exp

from millstream.catalog.arrow import carried
from millstream.expressions.arrow import numbers as arrow_numbers
from millstream.expressions.arrow import texts as arrow_texts
from millstream.expressions.arrow.lists import array_of
from millstream.expressions.arrow.steps import Constant, Step, applied
from millstream.expressions.arrow.times import since_1970
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.choices import first
from millstream.expressions.build.numbers import computed
from millstream.expressions.build.types import has_negative, type_of
from millstream.language.types import coercion as c

_TEXTS: dict[str, Callable[..., Any]] = {
    "lower": arrow_texts.lower,
    "upper": arrow_texts.upper,
    "length": arrow_texts.length,
}
_UNITS = {"unix_micros": 1, "unix_millis": 1_000, "unix_seconds": 1_000_000}


def call(builder: Builder, node: exp.Expr) -> Step:
    """A call, by the name of the function."""
    name, given = node.name.lower(), node.expressions
    type_ = type_of(node)
    match name, len(given):
        case ("lower" | "upper" | "length", 1) if c.is_string(type_of(given[0])):
            return applied(_TEXTS[name], builder.step(given[0]))
        case ("concat", _) if given and c.is_string(type_):
            return reduce(partial(applied, arrow_texts.concat), map(builder.text, given))
        case ("abs", 1) if has_negative(type_of(given[0])):
            return applied(arrow_numbers.absolute, builder.step(given[0]))
        case ("positive", 1) if c.is_numeric(type_of(given[0])):
            return builder.step(given[0])
        case ("nvl" | "ifnull", 2):
            return first(builder, given, type_)
        case ("mod", 2) if c.is_numeric(type_):
            return computed(builder, node, exp.Mod, *given)
        case ("pmod", 2) if c.is_numeric(type_) and not c.is_decimal(type_):
            return applied(arrow_numbers.positive_remainder, *(builder.step_as(n, type_) for n in given))
        case ("unix_micros" | "unix_millis" | "unix_seconds", 1) if c.is_timestamp(type_of(given[0])):
            return applied(partial(since_1970, unit=_UNITS[name]), builder.step_as(given[0], c.TIMESTAMP))
        case ("array", _) if given:
            return _array(builder, node, given)
    raise builder.refusal(node)


def _array(builder: Builder, node: exp.Expr, given: Sequence[exp.Expr]) -> Step:
    type_ = type_of(node)
    if carried(type_) is None or carried(type_) == carried(type_.expressions[0]):
        raise builder.refusal(node)
    steps = [builder.step_as(n, type_.expressions[0]) for n in given]
    if all(isinstance(step, Constant) for step in steps):
        raise builder.refusal(node)
    return applied(array_of, *steps)
