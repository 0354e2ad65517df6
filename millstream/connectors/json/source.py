"""`json:` files, one object a line."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import Stream, Table
from millstream.connectors.arrivals import ORIGIN, RAW, Arrivals, spark_schema
from millstream.connectors.files.file_lists import rejects_bad_files, source_path, stream_reader, table_reader
from millstream.connectors.files.lines import json_rows, with_origins
from millstream.connectors.files.open_files import open_each
from millstream.connectors.formats.text_files import LINES, TextFiles, text_rows
from millstream.spark.host import Host

TEXT_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}
"""How a line of JSON is read, in Spark's words."""


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The objects of files that are there and of files that appear."""
    return _judge_files(host, stream, options) or _arrivals(stream, _lines(host, stream, options))


def rejected(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The same, and it is known from which file each line is."""
    return _judge_files(host, stream, options) or _arrivals(stream, with_origins(_lines(host, stream, options)))


def _arrivals(stream: Stream, lines: DataFrame) -> Arrivals:
    return Arrivals(
        json_rows(lines, stream.arriving_schema, TEXT_OPTIONS), "json", F.col(ORIGIN), stream.arriving_schema
    )


def _judge_files(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals | None:
    """The arrivals of files that we open ourselves, if bad ones are to be found first."""
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    path = source_path(host, stream.source, f"stream {stream.name}")
    if not rejects_bad_files(stream, path):
        return None
    lines = open_each(stream_reader(host.spark, path, options, stream.name), text_rows(TextFiles(rejects=True)), LINES)
    frame = json_rows(lines, stream.arriving_schema, TEXT_OPTIONS, opened=True)
    return Arrivals(frame, "json", F.col(ORIGIN), stream.arriving_schema, filed=True, judged=True)


def _lines(host: Host, stream: Stream, options: dict[str, object]) -> DataFrame:
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    path = source_path(host, stream.source, f"stream {stream.name}")
    return stream_reader(host.spark, path, options, stream.name).format("text").load()


def table(host: Host, table: Table, options: dict[str, object]) -> DataFrame:
    """The rows of a stored table; one that does not parse is an error."""
    path = source_path(host, table.source, f"table {table.name}")
    reader = table_reader(host.spark, path).option("mode", "FAILFAST").schema(spark_schema(table.schema))
    return reader.format("json").load()
