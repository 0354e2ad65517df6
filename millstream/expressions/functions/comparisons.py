"""Comparisons, IN, and IS DISTINCT FROM: NaN equals NaN and is greater than every other number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.types import arrow_type, column_of
from millstream.expressions.arrow.values import Values, as_array
from millstream.expressions.functions.function import ANY, SAME, Computation, Function, Maybe, Number, Result, plain
from millstream.expressions.reading import joined
from millstream.expressions.tree import BOOL, Call, Literal, Value
from millstream.expressions.written import COMPARISON, PREDICATE, Text, Writing, infix, pattern

# Only NaN differs from itself, and asking for that costs less than a call.
# ruff: noqa: PLR0124


def eq(a: Maybe, b: Maybe) -> Maybe:
    """`a = b`."""
    return None if a is None or b is None else a == b or (a != a and b != b)


def kernel_eq(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a = b`."""
    return a == b or (a != a and b != b), a_null or b_null


def ne(a: Maybe, b: Maybe) -> Maybe:
    """`a <> b`."""
    same = eq(a, b)
    return None if same is None else not same


def kernel_ne(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <> b`."""
    return not (a == b or (a != a and b != b)), a_null or b_null


def lt(a: Maybe, b: Maybe) -> Maybe:
    """`a < b`."""
    return None if a is None or b is None else a < b or (b != b and a == a)


def kernel_lt(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a < b`."""
    return a < b or (b != b and a == a), a_null or b_null


def le(a: Maybe, b: Maybe) -> Maybe:
    """`a <= b`."""
    return None if a is None or b is None else a <= b or b != b


def kernel_le(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <= b`."""
    return a <= b or b != b, a_null or b_null


def gt(a: Maybe, b: Maybe) -> Maybe:
    """`a > b`."""
    return lt(b, a)


def kernel_gt(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a > b`."""
    return b < a or (a != a and b == b), a_null or b_null


def ge(a: Maybe, b: Maybe) -> Maybe:
    """`a >= b`."""
    return le(b, a)


def kernel_ge(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a >= b`."""
    return b <= a or a != a, a_null or b_null


def same(a: Maybe, b: Maybe) -> bool:
    """`a <=> b`: NULL is the same as NULL."""
    return b is None if a is None else bool(eq(a, b))


def kernel_same(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a <=> b`: NULL is the same as NULL."""
    if a_null or b_null:
        return a_null and b_null, False
    return a == b or (a != a and b != b), False


def one_of(value: Maybe, *values: Maybe) -> Maybe:
    """`value IN (a, b, ...)` of three values."""
    return among(value, values)


def among(value: Maybe, values: Any) -> Maybe:
    """`value IN (values)` of three values."""
    unknown = False
    for other in values:
        equal = eq(value, other)
        if equal:
            return True
        unknown = unknown or equal is None
    return None if unknown else False


def arrow_equal(left: Values, right: Values) -> Values:
    """`left = right`; NaN equals NaN.

    >>> arrow_equal(pa.array([float("nan"), 0.0, None]), pa.scalar(float("nan"))).to_pylist()
    [True, False, None]
    """
    same = pc.equal(left, right)
    if _some_nan(left) and _some_nan(right):
        same = pc.or_kleene(same, pc.and_kleene(pc.is_nan(left), pc.is_nan(right)))
    return same


def arrow_not_equal(left: Values, right: Values) -> Values:
    """`left <> right`."""
    return pc.invert(arrow_equal(left, right))


def arrow_less(left: Values, right: Values) -> Values:
    """`left < right`; NaN is greater than every other number."""
    found = pc.less(left, right)
    if _some_nan(right):
        # and_kleene would say FALSE where NaN meets NULL
        found = pc.or_(found, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))
    return found


def arrow_less_equal(left: Values, right: Values) -> Values:
    """`left <= right`."""
    return pc.invert(arrow_less(right, left))


def arrow_greater(left: Values, right: Values) -> Values:
    """`left > right`."""
    return arrow_less(right, left)


def arrow_greater_equal(left: Values, right: Values) -> Values:
    """`left >= right`."""
    return pc.invert(arrow_less(left, right))


def arrow_same(left: Values, right: Values) -> Values:
    """`left <=> right`: NULL equals NULL, and the answer is never NULL."""
    return pc.or_(pc.fill_null(arrow_equal(left, right), False), pc.and_(pc.is_null(left), pc.is_null(right)))


def arrow_among(value: Values, *, wanted: pa.Array, with_null: bool) -> Values:
    """`value IN (...)` for constants other than FLOAT and DOUBLE; with a NULL among them, nothing is FALSE."""
    found = pc.is_in(value, value_set=wanted)
    unknown = pc.invert(found) if with_null else pc.is_null(value)
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)


def _some_nan(value: Values) -> bool:
    return pt.is_floating(value.type) and bool(pc.any(pc.is_nan(as_array(value, 1))).as_py())


def arrow_one_of(value: Values, *values: Values) -> Values:
    """`value IN (values)`."""
    return reduce(pc.or_kleene, (arrow_equal(value, other) for other in values))


def _one_of(call: Call) -> Computation:
    value, *members = call.arguments
    wanted = [m.value for m in members if isinstance(m, Literal)]
    if len(wanted) < len(members) or value.type.is_float:
        return arrow_one_of, call.arguments
    known = column_of([v for v in wanted if v is not None], arrow_type(value.type))
    return partial(arrow_among, wanted=known, with_null=None in wanted), (value,)


def _differs(call: Call) -> Value:
    return Call("not", (Call("same", call.arguments, BOOL),), BOOL)


def _between(call: Call) -> Value:
    ends = call.arguments[:2], call.arguments[2:]
    return Call("and", tuple(Call(name, end, BOOL) for name, end in zip(("ge", "le"), ends, strict=True)), BOOL)


def _among(call: Call) -> Value:
    pairs = zip(call.arguments[::2], call.arguments[1::2], strict=True)
    found = joined("or", [Call("eq", pair, BOOL) for pair in pairs])
    assert found is not None  # noqa: S101
    return found


def _between_words(call: Call, parts: Sequence[Text]) -> Text:
    value, low, _, high = (part.at(PREDICATE + 1) for part in parts)
    return Text(f"{value} BETWEEN {low} AND {high}", PREDICATE)


def _in(call: Call, parts: Sequence[Text]) -> Text:
    return Text(f"{parts[0].at(PREDICATE + 1)} IN ({', '.join(part.text for part in parts[1:])})", PREDICATE)


_SAME, _SAME_TO_SPARK = pattern("{0} IS NOT DISTINCT FROM {1}", PREDICATE), infix("<=>", COMPARISON)
_DIFFERS, _BETWEEN = pattern("{0} IS DISTINCT FROM {1}", PREDICATE), Writing("BETWEEN", _between_words)
_IN = Writing("IN", _in)
_AMONG = Writing("IN", lambda call, parts: _in(call, [parts[0], *parts[1::2]]))
"""The same where each member is compared in a type of its own: the value stands before each."""

FUNCTIONS = (
    Function("eq", (ANY, ANY), BOOL, eq, kernel_eq, arrow=plain(arrow_equal), written=infix("=", COMPARISON)),
    Function("ne", (ANY, ANY), BOOL, ne, kernel_ne, arrow=plain(arrow_not_equal), written=infix("<>", COMPARISON)),
    Function("lt", (ANY, ANY), BOOL, lt, kernel_lt, arrow=plain(arrow_less), written=infix("<", COMPARISON)),
    Function("le", (ANY, ANY), BOOL, le, kernel_le, arrow=plain(arrow_less_equal), written=infix("<=", COMPARISON)),
    Function("gt", (ANY, ANY), BOOL, gt, kernel_gt, arrow=plain(arrow_greater), written=infix(">", COMPARISON)),
    Function("ge", (ANY, ANY), BOOL, ge, kernel_ge, arrow=plain(arrow_greater_equal), written=infix(">=", COMPARISON)),
    Function(
        "same",
        (ANY, ANY),
        BOOL,
        same,
        kernel_same,
        strict=False,
        arrow=plain(arrow_same),
        written=_SAME,
        spark=_SAME_TO_SPARK,
    ),
    Function("one_of", (ANY, ANY), BOOL, one_of, many=True, strict=False, arrow=_one_of, written=_IN),
    Function("differs", (ANY, ANY), BOOL, strict=False, written=_DIFFERS, means=_differs),
    Function("between", (ANY, SAME, ANY, ANY), BOOL, strict=False, written=_BETWEEN, means=_between),
    Function("among", (ANY, ANY), BOOL, many=True, strict=False, written=_AMONG, means=_among),
)
