"""Sources: one file per kind; each opens a stream or a table as a frame of arrivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

from millstream.catalog.definitions import Stream, Table
from millstream.catalog.options import SOURCE_OPTIONS, read_options
from millstream.connectors.arrivals import Arrivals
from millstream.connectors.files import csv, json, parquet
from millstream.connectors.postgres import source as postgres
from millstream.connectors.rate import source as rate
from millstream.connectors.tcp import source as tcp
from millstream.errors import RunError
from millstream.spark.host import Host

_STREAMS: Mapping[str, Callable[[Host, Stream, dict[str, object]], Arrivals]] = {
    "csv": csv.stream,
    "json": json.stream,
    "parquet": parquet.stream,
    "rate": rate.stream,
    "tcp": tcp.stream,
}

_REJECTED = {**_STREAMS, "csv": csv.rejected, "json": json.rejected}

_TABLES: Mapping[str, Callable[[Host, Table, dict[str, object]], DataFrame]] = {
    "csv": csv.table,
    "json": json.table,
    "parquet": parquet.table,
    "postgres": postgres.table,
}


def open_stream(host: Host, stream: Stream) -> Arrivals:
    """The arrivals of a stream."""
    return _open(_STREAMS, host, stream)


def open_rejected(host: Host, stream: Stream) -> Arrivals:
    """The arrivals of a stream, of which the rows that do not parse are wanted."""
    return _open(_REJECTED, host, stream)


def _open(
    ways: Mapping[str, Callable[[Host, Stream, dict[str, object]], Arrivals]], host: Host, stream: Stream
) -> Arrivals:
    if stream.source is None:
        raise RunError(f"stream {stream.name} has no source")
    kind = stream.source.kind
    return ways[kind](host, stream, read_options(stream.options, SOURCE_OPTIONS[kind], kind))


def open_table(host: Host, table: Table) -> DataFrame:
    """The rows of a table, as they are now."""
    kind = table.source.kind
    return _TABLES[kind](host, table, read_options(table.options, SOURCE_OPTIONS[kind], kind))
