"""Conditions on two time stamps, as other systems write the window of a join: to bounds on their difference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from millstream.language.parse.written_values import micros


@dataclass(frozen=True)
class Bounds:
    """`right - left` is in [low, high], in microseconds; None is unbounded. `rest` are the other conditions."""

    low: int | None
    high: int | None
    rest: tuple[exp.Expression, ...]


def time_bounds(conditions: Iterable[exp.Expression], left: str, right: str) -> Bounds:
    """The bounds that conditions set between two time-stamp columns.

    >>> from sqlglot import parse_one
    >>> condition = parse_one("b BETWEEN a - INTERVAL '2' SECOND AND a + INTERVAL '3' SECOND")
    >>> found = time_bounds([condition], "a", "b")
    >>> found.low, found.high, found.rest
    (-2000000, 3000000, ())
    """
    low: int | None = None
    high: int | None = None
    rest = []
    for condition in conditions:
        found = _difference(condition, left, right)
        if found is None:
            rest.append(condition)
            continue
        low = max((b for b in (low, found[0]) if b is not None), default=None)
        high = min((b for b in (high, found[1]) if b is not None), default=None)
    return Bounds(low, high, tuple(rest))


def _difference(condition: exp.Expression, left: str, right: str) -> tuple[int | None, int | None] | None:
    """The bounds of one condition, None if it is not about the two columns alone."""
    if isinstance(condition, exp.Paren):
        return _difference(condition.this, left, right)
    if isinstance(condition, exp.Between):
        ends: list[exp.Expression] = [
            exp.GTE(this=condition.this, expression=condition.args["low"]),
            exp.LTE(this=condition.this, expression=condition.args["high"]),
        ]
        found = [_difference(end, left, right) for end in ends]
        if None in found:
            return None
        lows, highs = zip(*(f for f in found if f is not None), strict=True)
        return next((b for b in lows if b is not None), None), next((b for b in highs if b is not None), None)
    if not isinstance(condition, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ):
        return None
    one, other = _shifted(condition.this), _shifted(condition.expression)
    if one is None or other is None or {one[0], other[0]} != {left.lower(), right.lower()}:
        return None
    at_least = isinstance(condition, exp.GT | exp.GTE)
    strict = isinstance(condition, exp.GT | exp.LT)
    if one[0] == left.lower():  # left + x >= right + y is right - left <= x - y
        one, other, at_least = other, one, not at_least
    difference = other[1] - one[1]
    if isinstance(condition, exp.EQ):
        return difference, difference
    return (difference + strict, None) if at_least else (None, difference - strict)


def _shifted(node: exp.Expression) -> tuple[str, int] | None:
    """A column and what is added to it, in microseconds."""
    match node:
        case exp.Paren():
            return _shifted(node.this)
        case exp.Column():
            return node.name.lower(), 0
        case exp.Add() | exp.Sub():
            column, length = _shifted(node.this), micros(node.expression)
            if column is None or length is None:
                return None
            return column[0], column[1] + (length if isinstance(node, exp.Add) else -length)
    return None
