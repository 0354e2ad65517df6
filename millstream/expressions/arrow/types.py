"""Types of values as types of Arrow: at run time a time is a number."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.expressions.tree import Type

_PLAIN = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(type_: Type) -> pa.DataType:
    """The type of a column that holds such values; KeyError where there is none, as for intervals.

    >>> arrow_type(Type("decimal", 10, 2))
    Decimal128Type(decimal128(10, 2))
    """
    if type_.element is not None:
        return pa.list_(arrow_type(type_.element))
    return pa.decimal128(type_.precision, type_.scale) if type_.name == "decimal" else _PLAIN[type_.name]


def column_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values of a tree as a column of that type."""
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, pa.int32()).cast(kind) if pa.types.is_date(kind) else pa.array(values, kind)
