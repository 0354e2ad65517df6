"""Comparisons on Arrow arrays, IN, and IS."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.values import Values, as_array


def equal(left: Values, right: Values) -> Values:
    """`left = right`; NaN equals NaN.

    >>> equal(pa.array([float("nan"), 0.0, None]), pa.scalar(float("nan"))).to_pylist()
    [True, False, None]
    """
    same = pc.equal(left, right)
    if _some_nan(left) and _some_nan(right):
        same = pc.or_kleene(same, pc.and_kleene(pc.is_nan(left), pc.is_nan(right)))
    return same


def not_equal(left: Values, right: Values) -> Values:
    """`left <> right`."""
    return pc.invert(equal(left, right))


def less(left: Values, right: Values) -> Values:
    """`left < right`; NaN is greater than every other number."""
    found = pc.less(left, right)
    if _some_nan(right):
        # and_kleene would say FALSE where NaN meets NULL
        found = pc.or_(found, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))
    return found


def less_equal(left: Values, right: Values) -> Values:
    """`left <= right`."""
    return pc.invert(less(right, left))


def greater(left: Values, right: Values) -> Values:
    """`left > right`."""
    return less(right, left)


def greater_equal(left: Values, right: Values) -> Values:
    """`left >= right`."""
    return pc.invert(less(left, right))


def same(left: Values, right: Values) -> Values:
    """`left <=> right`: NULL equals NULL, and the answer is never NULL."""
    return pc.or_(pc.fill_null(equal(left, right), False), pc.and_(pc.is_null(left), pc.is_null(right)))


def not_same(left: Values, right: Values) -> Values:
    """`left IS DISTINCT FROM right`."""
    return pc.invert(same(left, right))


def among(value: Values, wanted: pa.Array, with_null: bool) -> Values:
    """`value IN (...)` for constants other than FLOAT and DOUBLE; with a NULL among them, nothing is FALSE."""
    found = pc.is_in(value, value_set=wanted)
    unknown = pc.invert(found) if with_null else pc.is_null(value)
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)


def is_true(value: Values) -> Values:
    """`value IS TRUE`."""
    return pc.fill_null(value, False)


def is_false(value: Values) -> Values:
    """`value IS FALSE`."""
    return pc.invert(pc.fill_null(value, True))


def _some_nan(value: Values) -> bool:
    return pt.is_floating(value.type) and bool(pc.any(pc.is_nan(as_array(value, 1))).as_py())
