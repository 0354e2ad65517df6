"""How values are written to CSV and JSON: times as ISO 8601 in UTC, nested values as JSON."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CalendarIntervalType,
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

from millstream.spark.names import quoted

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
    """The frame with the columns that a format cannot hold turned into text."""
    if kind == "parquet" and not any(_holds(f.dataType, CalendarIntervalType) for f in frame.schema):
        return frame
    return frame.select(*[_write_column(F.col(quoted(f.name)), f.dataType, kind).alias(f.name) for f in frame.schema])


def readable(frame: DataFrame) -> DataFrame:
    """The frame with the columns that Arrow and Python cannot hold turned into text."""
    if all(_is_readable(f.dataType) for f in frame.schema):
        return frame
    return frame.select(*[_read_column(F.col(quoted(f.name)), f.dataType).alias(f.name) for f in frame.schema])


def _is_readable(type_: DataType) -> bool:
    return not _holds(type_, VariantType, YearMonthIntervalType, CalendarIntervalType) and not _is_bare(type_)


def _read_column(column: Column, type_: DataType) -> Column:
    if _is_readable(type_):
        return column
    return F.to_json(column) if _holds(type_, VariantType) else column.cast("string")


def _holds(type_: DataType, *kinds: type[DataType]) -> bool:
    """Whether a type is one of some kinds, or has one in it."""
    return isinstance(type_, kinds) or any(_holds(part, *kinds) for part in _parts(type_))


def _is_bare(type_: DataType) -> bool:
    """Whether it is the type of array() or map(), or has one in it: nothing is known of what would be in them."""
    match type_:
        case ArrayType(elementType=NullType(), containsNull=False) | MapType(keyType=NullType()):
            return True
    return any(map(_is_bare, _parts(type_)))


def _parts(type_: DataType) -> list[DataType]:
    match type_:
        case ArrayType(elementType=element):
            return [element]
        case MapType(keyType=key, valueType=value):
            return [key, value]
        case StructType(fields=fields):
            return [field.dataType for field in fields]
    return []


def _write_column(column: Column, type_: DataType, kind: str) -> Column:
    if _holds(type_, CalendarIntervalType):
        return column.cast("string")
    if kind == "parquet":
        return column
    if isinstance(type_, TimestampType | TimestampNTZType):
        return F.replace(column.cast("string"), F.lit(" "), F.lit("T"))
    if isinstance(type_, DayTimeIntervalType | YearMonthIntervalType | NullType):
        return column.cast("string")
    if kind == "csv" and isinstance(type_, ArrayType | MapType | StructType | VariantType):
        return F.to_json(column, {"timestampFormat": NESTED_TIME})
    if kind == "csv" and isinstance(type_, BinaryType):
        return F.base64(column)
    return column
