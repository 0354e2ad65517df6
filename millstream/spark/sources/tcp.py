"""`tcp:PORT`: lines that producers push, read from the log in which the listener landed them."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import Stream
from millstream.spark import log_source
from millstream.spark.arrivals import Arrivals, ddl, spark_schema, with_raw
from millstream.spark.host import Host
from millstream.spark.sources.csv import text_options
from millstream.spark.sources.json import TEXT_OPTIONS


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The lines that are in the stream's log and those that land in it."""
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    log_source.register(host.spark)
    lines = host.spark.readStream.format(log_source.FORMAT).option("path", str(host.log_of(stream.name))).load()
    schema = with_raw(stream.arriving)
    if options["format"] == "csv":
        parsed = F.from_csv(F.col("value"), ddl(schema), text_options(options))
    else:
        parsed = F.from_json(F.col("value"), spark_schema(schema), TEXT_OPTIONS)
    frame = lines.select(parsed.alias("row")).select("row.*")
    return Arrivals(
        frame, str(options["format"]), F.lit(str(stream.source)), stream.arriving, str(options["delimiter"])
    )
