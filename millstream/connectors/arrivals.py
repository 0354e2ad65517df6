"""The output of a source: good tuples, rejected rows, and the counts of both."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import cast

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from millstream.catalog.ahead import EARLIEST, LATEST, Ahead
from millstream.catalog.definitions import INTERNAL_COLUMN, REJECTED_SCHEMA, Stream, TimeStamp
from millstream.catalog.schema import Column, Schema, sql_type, type_name
from millstream.connectors.formats.rejection import explain_rejections
from millstream.connectors.formats.text_files import HEADER
from millstream.connectors.places.bad_files import BAD
from millstream.connectors.writing.text import NESTED_TIME
from millstream.expressions.compile.spark import spark_text
from millstream.history.log import REASON
from millstream.intervals import spoken
from millstream.spark import mark_rows
from millstream.spark.names import quoted
from millstream.spark.stage.marks import HIDDEN, MARK

AGAIN = "millstream.again."
"""The metrics of a stream that a query reads once more: Spark wants a name for them, and nobody asks for it."""

RAW = "__raw"
"""The column in which a source puts the text of a row that did not parse; NULL for the others."""

TEXT, LENGTH = "__text", "__length"
"""Beside it, where rows are lines: the line of every row, and how many bytes it has."""

ORIGIN, START = "__origin", "__start"
"""The file of a line, and where in it the part begins that a task reads."""


@dataclass(frozen=True)
class Arrivals:
    """The rows of a source: the arriving columns and RAW; `text_format` is None where none can be garbled.

    `fields` are the columns as they stand in the text, also those that the stream does not declare.
    `header` are the names that the first line of each file holds, where that line is among the rows.
    `filed`: the frame says of each row which file it is from, for the order of arrival.
    `judged`: bad files are rows of the frame, with the reason in BAD. `headed`: rows come with the HEADER above them.
    `landed`: they come from a log, with the REASON of those that were rejected, and marks.
    `origin` names the file or producer of a row. It is not a column of the frame: once a plan asks for the name of
    a file, Spark carries it along with every row, also where nothing uses it, and scans of Parquet get slower.
    """

    frame: DataFrame
    text_format: str | None
    origin: SparkColumn
    fields: Schema
    delimiter: str = ","
    header: tuple[str, ...] = ()
    filed: bool = False
    judged: bool = False
    headed: bool = False
    landed: bool = False


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


def tuples(arrivals: Arrivals, stream: Stream, marked: bool, again: int = 0, bound: Ahead | None = None) -> DataFrame:
    """The tuples of the stream: the rows that parsed, stamped on arrival if the stream asks for that.

    Punctuation is left out; `marked`, it comes as marks. A query may read a stream `again`, and counts it once.
    The stage to which tuples go `marked` looks itself how far they run ahead; the `bound` is for others.
    """
    frame = arrivals.frame
    bad = _bad(arrivals, stream)
    far = None if bound is None or bound.waits else _runs_ahead(stream, bound)
    wrong = [condition for condition in (bad, far) if condition is not None]
    if wrong:
        either = reduce(lambda a, b: a | b, wrong)
        frame = frame.observe(
            metric_name(stream) if not again else f"{AGAIN}{stream.name}.{again}",
            F.count(_tuple(arrivals)).alias("rows"),
            F.count(F.when(either, 1)).alias("rejected"),
            *([F.count(F.when(far, 1)).alias("beyond")] if far is not None else []),
        ).filter(~either)
    for item in stream.computed:
        frame = frame.withColumn(item.name, F.expr(spark_text(item.expression)))
    if stream.time_stamp is TimeStamp.INTERNAL and not arrivals.landed:
        frame = frame.withColumn(INTERNAL_COLUMN, F.current_timestamp())
    if MARK in frame.columns and not marked:
        frame = frame.filter(F.col(MARK).isNull()).drop(MARK)
    if marked:
        frame = mark_rows.mark_rows(frame, stream)
    elif stream.punctuated_by is not None:
        # Such rows are promises about the tuples that follow, not tuples.
        frame = frame.filter(~F.coalesce(F.expr(spark_text(stream.punctuated_by)), F.lit(False)))
    hidden = [F.col(name) for name in HIDDEN if name in frame.columns]
    return frame.select(*[F.col(quoted(c.name)) for c in stream.schema], *hidden)


def _tuple(arrivals: Arrivals) -> SparkColumn:
    """Something that is NULL in marks."""
    return F.when(F.col(MARK).isNull(), 1) if MARK in arrivals.frame.columns else F.lit(1)


def select_rejected(arrivals: Arrivals, stream: Stream, bound: Ahead | None = None) -> DataFrame:
    """The rows that did not parse, or have time stamps that are out of bounds, each with its text and the reason."""
    if arrivals.landed:
        told = zip((RAW, REASON, ORIGIN), REJECTED_SCHEMA, strict=True)
        return arrivals.frame.filter(F.col(REASON).isNotNull()).select(*[F.col(n).alias(c.name) for n, c in told])
    frame = judge_rows(arrivals, stream, bound)
    frame = frame.filter(F.col("wrong") | F.col("begins")).select(*JUDGED)
    explain = explain_rejections(arrivals.fields, arrivals.text_format, arrivals.delimiter, arrivals.header)
    return frame.mapInArrow(explain, spark_schema(REJECTED_SCHEMA))


JUDGED = ("raw", "length", "known", "origin", "header", "wrong", "begins")
"""What is known of a row that may have to be rejected."""


def judge_rows(arrivals: Arrivals, stream: Stream, bound: Ahead | None = None, *others: SparkColumn) -> DataFrame:
    """All rows with what is known of them, and other columns."""
    bad, out = _bad(arrivals, stream), out_of_bounds(stream, bound)
    wrong = [condition for condition in (bad, None if out is None else out.isNotNull()) if condition is not None]
    columns = [F.col(quoted(c.name)) for c in stream.arriving_schema]
    lines = TEXT in arrivals.frame.columns
    text = F.col(TEXT) if lines else F.to_json(F.struct(*columns), {"timestampFormat": NESTED_TIME})
    missing = [_refuse_null(c.name) for c in stream.arriving_schema if not c.nullable]
    known = F.coalesce(F.lit(None).cast("string"), *missing, *([] if out is None else [out]))
    file = F.col(BAD) if arrivals.judged else F.lit(None).cast("string")
    either = reduce(lambda a, b: a | b, wrong) if wrong else F.lit(False)
    # Which line comes first is known only where the lines are looked at one after the other.
    begins = F.col(START) == 0 if arrivals.header else F.lit(False)
    raw = F.when(file.isNull(), F.coalesce(F.col(RAW), text)).cast("binary")
    return arrivals.frame.select(
        F.when(either | begins, raw).alias("raw"),
        (F.col(LENGTH) if lines else F.lit(0)).alias("length"),
        F.coalesce(file, F.when(F.col(RAW).isNull(), known)).alias("known"),
        arrivals.origin.alias("origin"),
        (F.col(HEADER) if arrivals.headed else F.lit(None).cast("string")).alias("header"),
        either.alias("wrong"),
        begins.alias("begins"),
        *others,
    )


def _refuse_null(name: str) -> SparkColumn:
    return F.when(F.col(quoted(name)).isNull(), f"{name}: NULL, but the column is NOT NULL")


def time_of(stream: Stream) -> SparkColumn:
    """The time stamp of a row as it arrives, in microseconds."""
    made = {item.name: item.expression for item in stream.computed}
    text = spark_text(made[stream.time]) if stream.time in made else quoted(stream.time or "")
    return F.unix_micros(F.expr(text))


def _runs_ahead(stream: Stream, bound: Ahead) -> SparkColumn:
    """Whether a row runs too far ahead of the clock, as it was when the batch began.

    What is not ahead of now is not ahead of any batch. The clock of the batch stands in a lambda, which Spark does not
    compile: the code of a plain comparison would have it in its text, and be compiled anew for each batch.
    """
    micros, time_ = (bound.bound or timedelta(0)) // timedelta(microseconds=1), time_of(stream)
    far = F.exists(F.array(time_), lambda moment: moment > F.unix_micros(F.current_timestamp()) + F.lit(micros))
    return F.coalesce((time_ > F.lit(time.time_ns() // 1000 + micros)) & far, F.lit(False))


def out_of_bounds(stream: Stream, bound: Ahead | None) -> SparkColumn | None:
    """Why the time stamp of a row is out of bounds, NULL if it is not; None if we stamp the rows."""
    if stream.time_stamp is not TimeStamp.EXTERNAL:
        return None
    moment = time_of(stream)
    written = F.concat(
        F.lit(f"{stream.time}: "), F.replace(F.timestamp_micros(moment).cast("string"), F.lit(" "), F.lit("T"))
    )
    far = F.when(~moment.between(EARLIEST, LATEST), F.concat(written, F.lit(" is too far from 1970 for a window")))
    if bound is None or bound.bound is None:
        return far
    ahead = _runs_ahead(stream, bound)
    if bound.waits:  # tuples do, but a promise that nobody can rely on yet is none
        promises = F.lit(False) if stream.punctuated_by is None else F.expr(spark_text(stream.punctuated_by))
        ahead &= F.coalesce(promises, F.lit(False))
    return far.when(ahead, F.concat(written, F.lit(f" is more than {spoken(bound.bound)} ahead of the clock")))


def _bad(arrivals: Arrivals, stream: Stream) -> SparkColumn | None:
    if arrivals.landed:
        return F.col(REASON).isNotNull()
    conditions = [F.col(quoted(c.name)).isNull() for c in stream.arriving_schema if not c.nullable]
    if MARK in arrivals.frame.columns:  # a mark has no columns
        conditions = [condition & F.col(MARK).isNull() for condition in conditions]
    if arrivals.judged:
        conditions.append(F.col(BAD).isNotNull())
    if arrivals.text_format is not None:
        conditions.append(F.col(RAW).isNotNull())
    return reduce(lambda a, b: a | b, conditions) if conditions else None
