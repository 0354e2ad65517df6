"""Values of bodies as columns of Arrow, and back: at run time a time is a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.expressions.arrow.types import arrow_type, column_of
from millstream.udas.body import Field


def to_values(column: pa.Array) -> list[Any]:
    """The values of a column as bodies see them."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    values: list[Any] = column.to_pylist()
    return values


def from_values(answers: Sequence[Sequence[Sequence[Any]]], result: Sequence[Field], row: pa.DataType) -> pa.Array:
    """For each answer the list of rows that it is."""
    flat = [values for rows in answers for values in rows]
    columns = [column_of([values[i] for values in flat], arrow_type(f.type)) for i, f in enumerate(result)]
    offsets = np.cumsum([0, *(len(rows) for rows in answers)])
    rows = pa.StructArray.from_arrays(columns, fields=list(row))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), rows)
