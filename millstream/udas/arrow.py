"""Values of bodies as columns of Arrow, and back: at run time a time is a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.expressions.tree import Type
from millstream.udas.body import Field

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
}


def arrow_type(type_: Type) -> pa.DataType:
    """The type of a column that holds such values.

    >>> arrow_type(Type("decimal", 10, 2))
    Decimal128Type(decimal128(10, 2))
    """
    return pa.decimal128(type_.precision, type_.scale) if type_.name == "decimal" else _PLAIN[type_.name]


def to_values(column: pa.Array) -> list[Any]:
    """The values of a column as bodies see them."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    values: list[Any] = column.to_pylist()
    return values


def to_column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values of bodies as a column of that type."""
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, pa.int32()).cast(kind) if pa.types.is_date(kind) else pa.array(values, kind)


def from_values(answers: Sequence[Sequence[Sequence[Any]]], result: Sequence[Field], row: pa.DataType) -> pa.Array:
    """For each answer the list of rows that it is."""
    flat = [values for rows in answers for values in rows]
    columns = [to_column([values[i] for values in flat], arrow_type(f.type)) for i, f in enumerate(result)]
    offsets = np.cumsum([0, *(len(rows) for rows in answers)])
    rows = pa.StructArray.from_arrays(columns, fields=list(row))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), rows)
