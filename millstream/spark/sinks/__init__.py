"""Sinks: one file per way of keeping rows. A sink is given whole micro-batches, and some of them twice."""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import DataFrame

from millstream.catalog.definitions import Sink
from millstream.catalog.options import SINK_OPTIONS, read_options
from millstream.spark.host import Host
from millstream.spark.sinks.folder import FolderSink
from millstream.spark.sinks.place import QueryPlace
from millstream.spark.sinks.rows import Deliver, RowsSink
from millstream.spark.sinks.single_file import SingleFileSink, is_single_file


class BatchSink(Protocol):
    """Takes micro-batches. After a crash the last one comes again under the same number, and must count once."""

    def readied(self, frame: DataFrame) -> DataFrame:
        """The rows of the whole query as the sink can hold them: once here, not anew in each micro-batch."""
        ...

    def write(self, frame: DataFrame, batch: int) -> int:
        """Keep a micro-batch of readied rows and say how many it had."""
        ...


def open_sink(host: Host, sink: Sink, place: QueryPlace, deliver: Deliver) -> BatchSink | None:
    """The sink that a query writes to; None if Spark discards the rows by itself (`noop:`)."""
    kind = sink.address.kind
    options = read_options(sink.options, SINK_OPTIONS[kind], kind)
    if kind in {"console", "memory"}:
        return RowsSink(deliver)
    if kind == "noop":
        return None
    path = host.path(sink.address.rest)
    if is_single_file(path, kind):
        return SingleFileSink(host.spark, path, kind, options, place)
    return FolderSink(host.spark, path, kind, options, place)


__all__ = ["BatchSink", "Deliver", "QueryPlace", "RowsSink", "open_sink"]
