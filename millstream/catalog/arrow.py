"""SQL types to Arrow types, and back."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from sqlglot import exp

from millstream.catalog.schema import Column, SqlType, sql_type

_PLAIN = {
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.TEXT: pa.string(),
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.DATE: pa.date32(),
    exp.DType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    exp.DType.TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
    exp.DType.TIMESTAMPLTZ: pa.timestamp("us", tz="UTC"),
    exp.DType.TIMESTAMPNTZ: pa.timestamp("us"),
}
_NAMES = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
    "timestamp[us, tz=UTC]": "TIMESTAMP",
    "timestamp[us]": "TIMESTAMP_NTZ",
}


def to_arrow(type_: SqlType) -> pa.DataType | None:
    """The Arrow type of an SQL type, None if there is none for keys and arguments of aggregates.

    >>> to_arrow(sql_type("decimal(10,2)"))
    Decimal128Type(decimal128(10, 2))
    """
    if type_.this is exp.DType.DECIMAL:
        sizes = [int(e.name) for e in type_.expressions] or [10, 0]
        return pa.decimal128(sizes[0], sizes[1] if len(sizes) > 1 else 0)
    return _PLAIN.get(type_.this)


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """The columns that have an Arrow type."""
    types = [(column.name, to_arrow(column.type)) for column in columns]
    return pa.schema([pa.field(name, type_) for name, type_ in types if type_ is not None])


def carried(type_: SqlType) -> pa.DataType | None:
    """The Arrow type of what classes of Python can take and give: besides plain values, arrays of them.

    >>> carried(sql_type("array<array<int>>"))
    ListType(list<item: list<item: int32>>)
    """
    if type_.this is exp.DType.ARRAY and type_.expressions:
        values = carried(type_.expressions[0])
        return None if values is None else pa.list_(values)
    return to_arrow(type_)


def to_sql(type_: pa.DataType) -> SqlType:
    """The SQL type of an Arrow type; ValueError says that it is none that operators know.

    >>> str(to_sql(pa.list_(pa.int64())).sql(dialect="spark"))
    'ARRAY<BIGINT>'
    >>> to_sql(pa.binary())
    Traceback (most recent call last):
    ValueError: binary has no SQL type here
    """
    if pa.types.is_decimal(type_):
        return sql_type(f"DECIMAL({type_.precision}, {type_.scale})")
    if pa.types.is_list(type_):
        return sql_type(f"ARRAY<{to_sql(type_.value_type).sql(dialect='spark')}>")
    if str(type_) not in _NAMES:
        raise ValueError(f"{type_} has no SQL type here")
    return sql_type(_NAMES[str(type_)])
