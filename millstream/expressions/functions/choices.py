"""Which of several values it is: the first that is not NULL, the greatest, the least."""

from __future__ import annotations

from functools import reduce

import pyarrow.compute as pc

from millstream.expressions.arrow.steps import choose
from millstream.expressions.arrow.values import Values
from millstream.expressions.functions.comparisons import arrow_greater, arrow_less, lt
from millstream.expressions.functions.function import ANY, SAME, Function, Maybe, Number, Result, plain
from millstream.expressions.tree import BOOL, Call, Case, Literal, Value
from millstream.expressions.written import Writing, called

# Only NaN differs from itself, and asking for that costs less than a call.
# ruff: noqa: PLR0124


def greatest(*values: Maybe) -> Maybe:
    """The greatest that is not NULL."""
    found = None
    for value in values:
        if value is not None and (found is None or lt(found, value)):
            found = value
    return found


def kernel_greatest(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The greater that is not NULL, the first of equal ones."""
    second = not b_null and (a_null or a < b or (b != b and a == a))
    return (b if second else a), a_null and b_null


def least(*values: Maybe) -> Maybe:
    """The smallest that is not NULL."""
    found = None
    for value in values:
        if value is not None and (found is None or lt(value, found)):
            found = value
    return found


def kernel_least(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The smaller that is not NULL, the first of equal ones."""
    second = not b_null and (a_null or b < a or (a != a and b == b))
    return (b if second else a), a_null and b_null


def coalesce(*values: Maybe) -> Maybe:
    """The first that is not NULL."""
    return next((v for v in values if v is not None), None)


def kernel_coalesce(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """The first that is not NULL."""
    return (b if a_null else a), a_null and b_null


def _greater(found: Values, value: Values) -> Values:
    """The greater one; NULL counts only if both are."""
    return choose(pc.or_(pc.is_null(found), pc.fill_null(arrow_greater(value, found), False)), value, found)


def _lesser(found: Values, value: Values) -> Values:
    """The lesser one; NULL counts only if both are."""
    return choose(pc.or_(pc.is_null(found), pc.fill_null(arrow_less(value, found), False)), value, found)


def arrow_greatest(*values: Values) -> Values:
    """The greatest that is not NULL."""
    return reduce(_greater, values)


def arrow_least(*values: Values) -> Values:
    """The smallest that is not NULL."""
    return reduce(_lesser, values)


def _if(call: Call) -> Value:
    condition, then, otherwise = call.arguments
    return Case(((condition, then),), otherwise, call.type)


def _nullif(call: Call) -> Value:
    value, *compared = call.arguments
    return Case(((Call("eq", tuple(compared), BOOL), Literal(None, call.type)),), value, call.type)


def _nvl2(call: Call) -> Value:
    value, then, otherwise = call.arguments
    return Case(((Call("is_not_null", (value,), BOOL), then),), otherwise, call.type)


_NULLIF = Writing("NULLIF", lambda call, parts: called("NULLIF").write(call, [parts[0], parts[2]]))
"""The value comes once more, in the type in which it is compared."""

FUNCTIONS = (
    Function("if", (BOOL, ANY, ANY), ANY, strict=False, means=_if),
    Function("nullif", (ANY, ANY, ANY), SAME, strict=False, written=_NULLIF, means=_nullif),
    Function("nvl2", (ANY, ANY, ANY), ANY, strict=False, means=_nvl2),
    Function(
        "greatest", (ANY, ANY), SAME, greatest, kernel_greatest, many=True, strict=False, arrow=plain(arrow_greatest)
    ),
    Function("least", (ANY, ANY), SAME, least, kernel_least, many=True, strict=False, arrow=plain(arrow_least)),
    Function(
        "coalesce", (ANY, ANY), SAME, coalesce, kernel_coalesce, many=True, strict=False, arrow=plain(pc.coalesce)
    ),
)
