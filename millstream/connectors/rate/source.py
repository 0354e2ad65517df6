"""`rate:N`, N rows a second: TIMESTAMP columns hold the time, INT and BIGINT columns a counter from 0."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import Stream
from millstream.connectors.arrivals import RAW, Arrivals, spark_schema
from millstream.spark.host import Host


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """Rows made by a clock, for trying things out."""
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    ticks = host.spark.readStream.format("rate").option("rowsPerSecond", stream.source.rest).load()
    columns = [
        F.col("timestamp" if field.dataType.typeName() == "timestamp" else "value")
        .cast(field.dataType)
        .alias(field.name)
        for field in spark_schema(stream.arriving_schema)
    ]
    nothing = F.lit(None).cast("string")
    return Arrivals(ticks.select(*columns, nothing.alias(RAW)), None, F.lit(str(stream.source)), stream.arriving_schema)
