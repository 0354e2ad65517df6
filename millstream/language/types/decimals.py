"""Decimals as Spark counts them: how many digits a result has, and which go when there are more than 38."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

from sqlglot import exp

from millstream.catalog.column_types import MAX_PRECISION
from millstream.catalog.schema import SqlType, sql_type

MIN_SCALE = 6
_INTEGRAL_DIGITS = {exp.DType.TINYINT: 3, exp.DType.SMALLINT: 5, exp.DType.INT: 10, exp.DType.BIGINT: 20}


@cache
def decimal(precision: int, scale: int) -> SqlType:
    """The type with so many digits, so many of them after the point."""
    return sql_type(f"decimal({precision}, {scale})")


def digits(type_: SqlType) -> tuple[int, int] | None:
    """Precision and scale of a decimal, or those of the decimal that an integral type becomes; else None.

    >>> digits(sql_type("decimal(10, 2)")), digits(sql_type("int")), digits(sql_type("double"))
    ((10, 2), (10, 0), None)
    """
    if type_.this in _INTEGRAL_DIGITS:
        return _INTEGRAL_DIGITS[type_.this], 0
    if type_.this is not exp.DType.DECIMAL:
        return None
    precision, scale, *_ = *(int(e.name) for e in type_.expressions), *((10, 0)[len(type_.expressions) :])
    return precision, scale


def of_literal(text: str) -> SqlType:
    """The type of a number written with a point, or too great for BIGINT.

    >>> of_literal("0.05").sql(), of_literal("12.50").sql()
    ('DECIMAL(2, 2)', 'DECIMAL(4, 2)')
    """
    _, written, exponent = Decimal(text).as_tuple()
    scale = -int(exponent)
    if scale < 0:
        return decimal(len(written) - scale, 0)
    return decimal(max(len(written), scale), scale)


def _fitted(precision: int, scale: int) -> SqlType:
    """Spark's rule of loss: digits after the point go first, but not the first six of them."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, MIN_SCALE)))


def added(left: tuple[int, int], right: tuple[int, int]) -> SqlType:
    """The type of a sum or a difference.

    >>> added((10, 2), (10, 0)).sql()
    'DECIMAL(13, 2)'
    """
    scale = max(left[1], right[1])
    return _fitted(max(left[0] - left[1], right[0] - right[1]) + scale + 1, scale)


def multiplied(left: tuple[int, int], right: tuple[int, int]) -> SqlType:
    """The type of a product.

    >>> multiplied((10, 2), (10, 2)).sql(), multiplied((38, 10), (38, 10)).sql()
    ('DECIMAL(21, 4)', 'DECIMAL(38, 6)')
    """
    return _fitted(left[0] + right[0] + 1, left[1] + right[1])


def divided(left: tuple[int, int], right: tuple[int, int]) -> SqlType:
    """The type of a quotient.

    >>> divided((10, 2), (1, 0)).sql()
    'DECIMAL(14, 6)'
    """
    scale = max(MIN_SCALE, left[1] + right[0] + 1)
    return _fitted(left[0] - left[1] + right[1] + scale, scale)


def remainder(left: tuple[int, int], right: tuple[int, int]) -> SqlType:
    """The type of a remainder."""
    scale = max(left[1], right[1])
    return _fitted(min(left[0] - left[1], right[0] - right[1]) + scale, scale)


def common(left: tuple[int, int], right: tuple[int, int]) -> SqlType:
    """The type that holds the values of both, as the branches of a CASE need it.

    >>> common((10, 2), (10, 0)).sql(), common((38, 10), (38, 20)).sql()
    ('DECIMAL(12, 2)', 'DECIMAL(38, 10)')
    """
    scale = max(left[1], right[1])
    precision = max(left[0] - left[1], right[0] - right[1]) + scale
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    return decimal(MAX_PRECISION, max(0, scale - (precision - MAX_PRECISION)))
