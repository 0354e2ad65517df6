"""`parquet:` files; rows in them are typed, so none is ever garbled."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import Stream, Table
from millstream.spark.arrivals import RAW, Arrivals, spark_schema
from millstream.spark.host import Host
from millstream.spark.sources.files import following, source_path, stored


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The rows of files that are there and of files that appear."""
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    path = source_path(host, stream.source, f"stream {stream.name}")
    reader = following(host.spark, path, options, stream.name).schema(spark_schema(stream.arriving))
    frame = reader.format("parquet").load()
    return Arrivals(
        frame.withColumn(RAW, F.lit(None).cast("string")), None, F.col("_metadata.file_path"), stream.arriving
    )


def table(host: Host, table: Table, options: dict[str, object]) -> DataFrame:
    """The rows of a stored table."""
    path = source_path(host, table.source, f"table {table.name}")
    return stored(host.spark, path).schema(spark_schema(table.schema)).format("parquet").load()
