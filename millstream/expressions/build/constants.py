"""Values that are written out in an expression, as constants of an Arrow type; None for those left to Spark."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import SqlType
from millstream.expressions.arrow.decimals import MOST_DIGITS
from millstream.expressions.arrow.steps import Constant
from millstream.language.parse import written_values as w
from millstream.language.types import coercion as c
from millstream.language.types import decimals


def null(type_: pa.DataType) -> Constant:
    """NULL."""
    return Constant(pa.scalar(None, type_))


def number(text: str, type_: SqlType) -> Constant | None:
    """A number; None if it has more digits than a decimal can have, or does not fit its type, as 200Y."""
    if c.is_decimal(type_):
        if (decimals.digits(type_) or (0, 0))[0] > MOST_DIGITS:
            return None
        return Constant(pa.scalar(Decimal(text), to_arrow(type_)))
    try:
        return Constant(pa.scalar(int(text) if c.is_integral(type_) else float(text), to_arrow(type_)))
    except pa.ArrowInvalid:
        return None


def time(node: exp.Expr, type_: SqlType) -> Constant | None:
    """A date or a timestamp; None if the part is no text that says one, or the type is another one."""
    value = None
    if isinstance(node, exp.Literal) and node.is_string:
        if c.is_date(type_):
            value = w.date(node.name)
        elif c.is_timestamp(type_):
            value = w.timestamp(node.name, zoned=type_.this is not exp.DType.TIMESTAMPNTZ)
    return None if value is None else Constant(pa.scalar(value, to_arrow(type_)))
