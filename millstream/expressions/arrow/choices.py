"""Which of two values it is: choices on Arrow arrays."""

from __future__ import annotations

import pyarrow.compute as pc

from millstream.expressions.arrow.comparisons import greater, less
from millstream.expressions.arrow.values import Values


def choose(condition: Values, value: Values, other: Values) -> Values:
    """The value where the condition holds, else the other one."""
    return pc.if_else(pc.fill_null(condition, False), value, other)


def greatest(found: Values, value: Values) -> Values:
    """The greater one; NULL counts only if both are."""
    return choose(pc.or_(pc.is_null(found), pc.fill_null(greater(value, found), False)), value, found)


def least(found: Values, value: Values) -> Values:
    """The lesser one; NULL counts only if both are."""
    return choose(pc.or_(pc.is_null(found), pc.fill_null(less(value, found), False)), value, found)
