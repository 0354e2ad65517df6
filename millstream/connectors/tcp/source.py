"""`tcp:PORT`: lines that producers push, read from the log in which the listener landed them."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import Stream
from millstream.connectors.arrivals import Arrivals
from millstream.connectors.csv.source import text_options
from millstream.connectors.files.lines import csv_rows, json_rows
from millstream.connectors.json.source import TEXT_OPTIONS
from millstream.connectors.tcp import log_source
from millstream.spark.host import Host


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The lines that are in the stream's log and those that land in it."""
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    log_source.register(host.spark)
    lines = host.spark.readStream.format(log_source.FORMAT).option("path", str(host.log_of(stream.name))).load()
    if options["format"] == "csv":
        frame = csv_rows(lines, stream.arriving_schema, stream.arriving_schema, text_options(options))
    else:
        frame = json_rows(lines, stream.arriving_schema, TEXT_OPTIONS)
    return Arrivals(
        frame, str(options["format"]), F.lit(str(stream.source)), stream.arriving_schema, str(options["delimiter"])
    )
