"""How values are written to CSV and JSON: times as ISO 8601 in UTC, nested values as JSON."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DayTimeIntervalType,
    MapType,
    NullType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
    YearMonthIntervalType,
)

NESTED_TIME = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]"


def writer_options(kind: str, options: dict[str, object]) -> dict[str, str]:
    """Spark's options for writing this kind of file so that others read back what was meant."""
    if kind == "csv":
        return {
            "header": str(options["header"]).lower(),
            "sep": str(options["delimiter"]),
            "escape": '"',
            "nullValue": str(options["null"]),
            "ignoreLeadingWhiteSpace": "false",
            "ignoreTrailingWhiteSpace": "false",
        }
    if kind == "json":
        return {"ignoreNullFields": "false", "timestampFormat": NESTED_TIME}
    return {}


def as_text(frame: DataFrame, kind: str) -> DataFrame:
    """The frame with the columns that a text format cannot hold turned into text."""
    if kind == "parquet":
        return frame
    return frame.select(*[_written(F.col(f"`{f.name}`"), f.dataType, kind).alias(f.name) for f in frame.schema])


def readable(frame: DataFrame) -> DataFrame:
    """The frame with the columns that Arrow and Python cannot hold turned into text."""
    if not any(isinstance(f.dataType, VariantType) for f in frame.schema):
        return frame
    columns = [(F.col(f"`{f.name}`"), f) for f in frame.schema]
    return frame.select(*[F.to_json(c).alias(f.name) if isinstance(f.dataType, VariantType) else c for c, f in columns])


def _written(column: Column, type_: DataType, kind: str) -> Column:
    if isinstance(type_, TimestampType | TimestampNTZType):
        return F.replace(column.cast("string"), F.lit(" "), F.lit("T"))
    if isinstance(type_, DayTimeIntervalType | YearMonthIntervalType | NullType):
        return column.cast("string")
    if kind == "csv" and isinstance(type_, ArrayType | MapType | StructType | VariantType):
        return F.to_json(column, {"timestampFormat": NESTED_TIME})
    if kind == "csv" and isinstance(type_, BinaryType):
        return F.base64(column)
    return column
