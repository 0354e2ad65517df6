"""The answers of a stage as pandas frames, which is what Spark takes from a stateful processor.

Plain columns stay backed by Arrow, so that pandas neither copies nor converts them. Times cross as microseconds, for
PySpark would convert every time stamp by its zone. So do arrays of plain values; other nested values cross as Python
objects.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from millstream.spark.names import quoted


class OneArray(pd.arrays.ArrowExtensionArray):
    """A column of pandas that gives PySpark the plain array it expects, where pandas would give one of many chunks."""

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:  # noqa: A002
        """The column as it is."""
        array = super().__arrow_array__(type)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        return array if type is None else array.cast(type)

    def map(self, mapper: Any, na_action: Any = None) -> OneArray:
        """The column as it is: PySpark would make every array anew, value by value, to get what is here already."""
        return self


def wire_schema(schema: pa.Schema) -> StructType:
    """The columns as Spark gets them."""
    return from_arrow_schema(pa.schema([f.with_type(pa.int64()) if pt.is_timestamp(f.type) else f for f in schema]))


def to_wire(rows: pa.Table, schema: pa.Schema) -> pd.DataFrame:
    """The rows for Spark, with NULL in columns that they lack."""
    return pd.DataFrame({field.name: _series(rows, field) for field in schema})


def from_wire(frame: DataFrame, schema: pa.Schema) -> DataFrame:
    """The columns as they were."""
    return frame.selectExpr(*[_restore_field(field) for field in schema])


def _series(rows: pa.Table, field: pa.Field) -> pd.Series:
    if field.name not in rows.column_names:
        type_ = pa.int64() if pt.is_timestamp(field.type) else field.type
        column = pa.chunked_array([pa.nulls(rows.num_rows, type_)])
    else:
        column = rows[field.name].cast(field.type)
    if pt.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    if pt.is_nested(column.type) and not _crosses(column.type):
        return pd.Series(column.to_pylist(maps_as_pydicts="strict"), dtype=object)
    return pd.Series(OneArray(column))


def _crosses(type_: pa.DataType) -> bool:
    """Whether arrays can cross as they are: PySpark converts nothing in them."""
    if pt.is_list(type_):
        return _crosses(type_.value_type)
    return not (pt.is_nested(type_) or pt.is_timestamp(type_))


def _restore_field(field: pa.Field) -> str:
    name = quoted(field.name)
    if not pt.is_timestamp(field.type):
        return name
    moment = f"timestamp_micros({name})"
    return f"{moment if field.type.tz else f'CAST({moment} AS TIMESTAMP_NTZ)'} AS {name}"
