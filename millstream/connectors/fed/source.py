"""The rows that were put into a stream, and the marks among them."""

from __future__ import annotations

import uuid
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from millstream.catalog.definitions import Stream
from millstream.connectors.arrivals import RAW, Arrivals, spark_schema
from millstream.connectors.files.file_lists import source_path, stream_reader
from millstream.progress.promise_mark import MARK
from millstream.spark.host import Host
from millstream.spark.metrics import READ


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The rows that are there and those that come, with marks."""
    return _arrivals(host, stream, options)


def rejected(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The rows alone."""
    found = _arrivals(host, stream, options)
    return replace(found, frame=found.frame.filter(F.col(MARK).isNull()).drop(MARK))


def _arrivals(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    assert stream.source is not None  # noqa: S101  (it is the folder)
    path = source_path(host, stream.source, f"stream {stream.name}")
    schema = spark_schema(stream.arriving_schema).add(MARK, StringType())
    frame = _counted(stream_reader(host.spark, path, options, stream.name).schema(schema).format("parquet").load())
    nothing = F.lit(None).cast("string")
    return Arrivals(frame.withColumn(RAW, nothing), None, F.col("_metadata.file_path"), stream.arriving_schema)


def _counted(frame: DataFrame) -> DataFrame:
    """Spark counts marks, too; it is told how many rows there are."""
    counts = F.expr(f"count_if({MARK} IS NULL) AS rows"), F.expr("count(1) AS files")
    return frame.observe(f"{READ}{uuid.uuid4().hex[:8]}", *counts)
