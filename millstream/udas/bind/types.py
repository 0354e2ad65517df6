"""The types of the language and those that values have when a body runs."""

from __future__ import annotations

from sqlglot import exp

from millstream.catalog.schema import SqlType
from millstream.expressions.tree import (
    BOOL,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    INTERVAL,
    MONTHS,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
)
from millstream.language.types import coercion as c
from millstream.language.types import decimals

_PLAIN = {
    exp.DType.BOOLEAN: BOOL,
    exp.DType.TINYINT: INT8,
    exp.DType.SMALLINT: INT16,
    exp.DType.INT: INT32,
    exp.DType.BIGINT: INT64,
    exp.DType.FLOAT: FLOAT32,
    exp.DType.DOUBLE: FLOAT64,
    exp.DType.TEXT: STRING,
    exp.DType.DATE: DATE,
    exp.DType.NULL: NULL,
}


def run_type(type_: SqlType) -> Type | None:
    """The type at run time, None for types that bodies cannot compute with.

    >>> from millstream.catalog.schema import sql_type
    >>> [str(run_type(sql_type(name))) for name in ("decimal(10, 2)", "timestamp", "array<int>")]
    ['decimal(10, 2)', 'timestamp', 'None']
    """
    plain = c.spelt(type_)
    if plain.this in _PLAIN:
        return _PLAIN[plain.this]
    if c.is_timestamp(plain):
        return TIMESTAMP
    if c.is_interval(plain):
        return MONTHS if c.is_months(plain) else INTERVAL
    digits = decimals.digits(plain)
    return Type("decimal", *digits) if c.is_decimal(plain) and digits else None
