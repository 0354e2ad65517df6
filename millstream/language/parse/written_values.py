"""Values that are written out in a text: lengths of time, and whole numbers."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

_MICROS = {
    "WEEK": 604_800_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}


def whole_number(node: exp.Expr) -> int | None:
    """A whole number, with or without a sign."""
    inner = node.unnest()
    literal, sign = (inner.this, -1) if isinstance(inner, exp.Neg) else (inner, 1)
    return sign * int(literal.name) if literal.is_int and isinstance(literal, exp.Literal) else None


def micros(node: exp.Expr) -> int | None:
    """The length of an interval that is written out, in microseconds."""
    inner = node.unnest()
    if isinstance(inner, exp.Add | exp.Sub):
        one, other = micros(inner.this), micros(inner.expression)
        if one is None or other is None:
            return None
        return one + other if isinstance(inner, exp.Add) else one - other
    if isinstance(inner, exp.Neg):
        length = micros(inner.this)
        return None if length is None else -length
    unit = inner.args.get("unit") if isinstance(inner, exp.Interval) else None
    if not isinstance(unit, exp.Var) or not isinstance(inner.this, exp.Literal):
        return None
    name = unit.name.upper()
    found = re.fullmatch(r"([+-]?\d+)(?:\.(\d+))?", inner.this.name.strip())
    one_unit = _MICROS.get(name) or _MICROS.get(name.removesuffix("S"))
    if found is None or one_unit is None or (found[2] and one_unit != _MICROS["SECOND"]):
        return None
    return int(Decimal(found[0]) * one_unit)
