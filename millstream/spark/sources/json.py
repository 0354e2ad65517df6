"""`json:` files, one object a line."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import Stream, Table
from millstream.spark.arrivals import RAW, Arrivals, spark_schema, with_raw
from millstream.spark.host import Host
from millstream.spark.sources.files import followed, limited, source_path

TEXT_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}
"""How a line of JSON is read, in Spark's words."""


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The objects of files that are there and of files that appear."""
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    path = source_path(host, stream.source, f"stream {stream.name}")
    reader = (
        limited(host.spark.readStream, options).options(**TEXT_OPTIONS).schema(spark_schema(with_raw(stream.arriving)))
    )
    return Arrivals(reader.json(followed(path)), "json", F.col("_metadata.file_path"), stream.arriving)


def table(host: Host, table: Table, options: dict[str, object]) -> DataFrame:
    """The rows of a stored table; one that does not parse is an error."""
    path = source_path(host, table.source, f"table {table.name}")
    return host.spark.read.option("mode", "FAILFAST").schema(spark_schema(table.schema)).json(path)
