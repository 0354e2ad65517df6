"""The types of the language and those that values have when a body runs."""

from __future__ import annotations

from sqlglot import exp

from millstream.catalog.schema import SqlType
from millstream.language.types import coercion as c
from millstream.language.types import decimals
from millstream.udas import body as b

_PLAIN = {
    exp.DType.BOOLEAN: b.BOOL,
    exp.DType.TINYINT: b.INT8,
    exp.DType.SMALLINT: b.INT16,
    exp.DType.INT: b.INT32,
    exp.DType.BIGINT: b.INT64,
    exp.DType.FLOAT: b.FLOAT32,
    exp.DType.DOUBLE: b.FLOAT64,
    exp.DType.TEXT: b.STRING,
    exp.DType.DATE: b.DATE,
    exp.DType.NULL: b.NULL,
}


def run_type(type_: SqlType) -> b.Type | None:
    """The type at run time, None for types that bodies cannot compute with.

    >>> from millstream.catalog.schema import sql_type
    >>> [str(run_type(sql_type(name))) for name in ("decimal(10, 2)", "timestamp", "array<int>")]
    ['decimal(10, 2)', 'timestamp', 'None']
    """
    plain = c.spelt(type_)
    if plain.this in _PLAIN:
        return _PLAIN[plain.this]
    if c.is_timestamp(plain):
        return b.TIMESTAMP
    if c.is_interval(plain):
        return b.MONTHS if c.is_months(plain) else b.INTERVAL
    digits = decimals.digits(plain)
    return b.Type("decimal", *digits) if c.is_decimal(plain) and digits else None
