"""Conditions on two time stamps, as other systems write the window of a join: to bounds on their difference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millstream.expressions.elementary import known
from millstream.expressions.tree import Call, Column, Value


@dataclass(frozen=True)
class Bounds:
    """`right - left` is in [low, high], in microseconds; None is unbounded. `rest` are the other conditions."""

    low: int | None
    high: int | None
    rest: tuple[Value, ...]


def time_bounds(conditions: Iterable[Value], left: str, right: str) -> Bounds:
    """The bounds that conditions set between two time-stamp columns.

    >>> from millstream.expressions.tree import BOOL, INTERVAL, TIMESTAMP, Literal
    >>> a, b = (Column(name, TIMESTAMP) for name in "ab")
    >>> later = Call("add_interval", (a, Literal(3_000_000, INTERVAL)), TIMESTAMP)
    >>> found = time_bounds([Call("between", (b, a, b, later), BOOL)], "a", "b")
    >>> found.low, found.high, found.rest
    (0, 3000000, ())
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


def _difference(condition: Value, left: str, right: str) -> tuple[int | None, int | None] | None:
    """The bounds of one condition, None if it is not about the two columns alone."""
    if not isinstance(condition, Call):
        return None
    if condition.function == "between":
        ends = condition.arguments[:2], condition.arguments[2:]
        sides = [Call(name, end, condition.type) for name, end in zip(("ge", "le"), ends, strict=True)]
        found = [_difference(side, left, right) for side in sides]
        if None in found:
            return None
        lows, highs = zip(*(f for f in found if f is not None), strict=True)
        return next((b for b in lows if b is not None), None), next((b for b in highs if b is not None), None)
    if condition.function not in {"gt", "ge", "lt", "le", "eq"}:
        return None
    one, other = map(_shifted, condition.arguments)
    if one is None or other is None or {one[0], other[0]} != {left.lower(), right.lower()}:
        return None
    at_least = condition.function in {"gt", "ge"}
    strict = condition.function in {"gt", "lt"}
    if one[0] == left.lower():  # left + x >= right + y is right - left <= x - y
        one, other, at_least = other, one, not at_least
    difference = other[1] - one[1]
    if condition.function == "eq":
        return difference, difference
    return (difference + strict, None) if at_least else (None, difference - strict)


_SIGNS = {"add_interval": 1, "subtract_interval": -1}


def _shifted(value: Value) -> tuple[str, int] | None:
    """A column and what is added to it, in microseconds."""
    match value:
        case Column(name=name):
            return name.lower(), 0
        case Call(function="add_interval" | "subtract_interval", arguments=[start, length]):
            column, micros = _shifted(start), known(length)
            if column is None or micros is None or not isinstance(micros.value, int):
                return None
            return column[0], column[1] + _SIGNS[value.function] * micros.value
    return None
