"""Marks in Catalyst's frames: made from punctuation in the data, and time stamps of tuples that a WHERE leaves out."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import Stream
from millstream.expressions.compile.spark import spark_text
from millstream.expressions.reading import columns_of
from millstream.expressions.tree import Value
from millstream.spark.names import quoted
from millstream.spark.stage.marks import AT, LEFT_OUT, MARK


def mark_rows(frame: DataFrame, stream: Stream) -> DataFrame:
    """The rows of a stream with its punctuation as marks, and with the time stamp apart from its column.

    Rows that are marks already stay such.
    """
    if stream.time:
        frame = frame.withColumn(AT, F.unix_micros(F.col(quoted(stream.time))))
    if stream.punctuated_by is None:
        return frame
    holds = F.coalesce(F.expr(spark_text(stream.punctuated_by)), F.lit(False))
    if not stream.time:
        return frame.filter(~holds)  # without a time they promise nothing
    names = [
        c.name for c in stream.arriving_schema if c.name.lower() not in _find_mark_columns(stream, stream.punctuated_by)
    ]
    columns = F.array_compact(F.array(*[F.when(F.col(quoted(n)).isNotNull(), n.lower()) for n in names]))
    mark = F.to_json(F.struct(F.col(AT).alias("time"), columns.alias("columns")))
    known = [F.col(MARK)] if MARK in frame.columns else []
    return frame.withColumn(MARK, F.coalesce(*known, F.when(holds, mark))).filter(~holds | F.col(AT).isNotNull())


def _find_mark_columns(stream: Stream, punctuated_by: Value) -> set[str]:
    """The columns of punctuation that name no group: those that tell what it is, and when."""
    times = [item.expression for item in stream.computed if item.name == stream.time]
    read = {name.lower() for name in columns_of(punctuated_by, *times)}
    return {*read, (stream.time or "").lower()}


def filter_rows(frame: DataFrame, predicate: SparkColumn) -> DataFrame:
    """The rows for which the predicate holds, and what speaks of progress.

    Of tuples of a source that do not pass, the time stamps go on, in the column LEFT_OUT: the stream has come to
    their time, and windows must close though nothing passes.
    """
    if AT not in frame.columns:
        return frame.filter(predicate | F.col(MARK).isNotNull() if MARK in frame.columns else predicate)
    passes = F.coalesce(predicate, F.lit(False))
    if MARK in frame.columns:
        passes = passes | F.col(MARK).isNotNull()
    before = F.col(LEFT_OUT) if LEFT_OUT in frame.columns else F.lit(None).cast("bigint")
    frame = frame.withColumn(LEFT_OUT, F.coalesce(before, F.when(~passes, F.col(AT))))
    return frame.filter(passes | F.col(LEFT_OUT).isNotNull())
