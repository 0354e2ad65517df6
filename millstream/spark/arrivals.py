"""What a source delivers: good tuples, rejected rows, and the count of both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import cast

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from millstream.catalog.definitions import INTERNAL_COLUMN, REJECTED_SCHEMA, Stream, TimeStamp
from millstream.catalog.schema import Column, Schema, sql_type, type_name
from millstream.spark import mark_rows
from millstream.spark.expressions import spark_text
from millstream.spark.marks import HIDDEN
from millstream.spark.names import quoted
from millstream.spark.rejection import explain_rejections

AGAIN = "millstream.again."
"""The metrics of a stream that a query reads once more: Spark wants a name for them, and nobody asks for it."""

RAW = "__raw"
"""The column in which a source puts the text of a row that did not parse; NULL for the others."""


@dataclass(frozen=True)
class Arrivals:
    """The rows of a source: the arriving columns and RAW; `text_format` is None where none can be garbled.

    `fields` are the columns as they stand in the text, also those that the stream does not declare.
    `origin` names the file or producer of a row. It is not a column of the frame: once a plan asks for the name of
    a file, Spark carries it along with every row, also where nothing uses it, and scans of Parquet get slower.
    """

    frame: DataFrame
    text_format: str | None
    origin: SparkColumn
    fields: Schema
    delimiter: str = ","


def ddl(schema: Schema) -> str:
    """A schema in Spark's words."""
    return ", ".join(f"{quoted(c.name)} {type_name(c.type)}" for c in schema)


def spark_schema(schema: Schema) -> StructType:
    """A schema in Spark's own form."""
    return cast("StructType", StructType.fromDDL(ddl(schema)))


def with_raw(schema: Schema) -> Schema:
    """The schema with room for the text of a row that does not parse."""
    return Schema([*schema, Column(RAW, sql_type("string"))])


def metric_name(stream: Stream) -> str:
    """The name under which a stream's counts appear in a query's progress."""
    return f"millstream.arrivals.{stream.name}"


def tuples(arrivals: Arrivals, stream: Stream, marked: bool, again: int = 0) -> DataFrame:
    """The tuples of the stream: the rows that parsed, stamped on arrival if the stream asks for that.

    Punctuation is left out; `marked`, it comes as marks. A query may read a stream `again`, and counts it once.
    """
    frame = arrivals.frame
    bad = _bad(arrivals, stream)
    if bad is not None:
        # The last metric reads every column, so that Spark parses them all: whether a row is
        # rejected must not depend on which columns a query happens to use.
        empty = reduce(lambda a, b: a & b, (F.col(quoted(c.name)).isNull() for c in stream.arriving))
        frame = frame.observe(
            metric_name(stream) if not again else f"{AGAIN}{stream.name}.{again}",
            F.count(F.lit(1)).alias("rows"),
            F.count(F.when(bad, 1)).alias("rejected"),
            F.count(F.when(empty, 1)).alias("empty"),
        ).filter(~bad)
    for item in stream.computed:
        frame = frame.withColumn(item.name, F.expr(spark_text(item.expression)))
    if stream.time_stamp is TimeStamp.INTERNAL:
        frame = frame.withColumn(INTERNAL_COLUMN, F.current_timestamp())
    if marked:
        frame = mark_rows.marked(frame, stream)
    elif stream.punctuated_by is not None:
        # Such rows are promises about the tuples that follow, not tuples.
        frame = frame.filter(~F.coalesce(F.expr(spark_text(stream.punctuated_by)), F.lit(False)))
    hidden = [F.col(name) for name in HIDDEN if name in frame.columns]
    return frame.select(*[F.col(quoted(c.name)) for c in stream.schema], *hidden)


def rejected(arrivals: Arrivals, stream: Stream) -> DataFrame:
    """The rows that did not parse, each with its text and the reason."""
    bad = _bad(arrivals, stream)
    columns = [F.col(quoted(c.name)) for c in stream.arriving]
    frame = arrivals.frame.filter(F.lit(False) if bad is None else bad).select(
        F.coalesce(F.col(RAW), F.to_json(F.struct(*columns))).alias("raw"),
        F.col(RAW).isNotNull().alias("garbled"),
        arrivals.origin.alias("origin"),
    )
    return frame.mapInArrow(
        explain_rejections(arrivals.fields, arrivals.text_format, arrivals.delimiter),
        spark_schema(REJECTED_SCHEMA),
    )


def _bad(arrivals: Arrivals, stream: Stream) -> SparkColumn | None:
    conditions = [F.col(quoted(c.name)).isNull() for c in stream.arriving if not c.nullable]
    if arrivals.text_format is not None:
        conditions.append(F.col(RAW).isNotNull())
    return reduce(lambda a, b: a | b, conditions) if conditions else None
