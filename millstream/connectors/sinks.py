"""Sinks: one file per way of keeping rows."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.catalog.definitions import Sink
from millstream.catalog.options import SINK_OPTIONS, read_options
from millstream.connectors.batch_sink import BatchSink
from millstream.connectors.files.folder import FolderSink
from millstream.connectors.files.single_file import SingleFileSink, is_single_file
from millstream.connectors.memory.rows import Deliver, RowsSink
from millstream.connectors.place import QueryPlace
from millstream.connectors.split import SplitSink
from millstream.spark.host import Host


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
    return FolderSink(host.spark, path, kind, options, place, host.written)


def open_sinks(host: Host, sinks: Sequence[Sink], place: QueryPlace, deliver: Deliver) -> BatchSink | None:
    """The sinks of a query as one; several have a place each, so that they do not overwrite each other's records."""
    if len(sinks) == 1:
        return open_sink(host, sinks[0], place, deliver)
    opened: list[BatchSink | None] = []
    try:
        for number, sink in enumerate(sinks):
            opened.append(open_sink(host, sink, place.of_output(number), deliver))
    except BaseException:
        SplitSink(opened).close()
        raise
    return SplitSink(opened)


__all__ = ["BatchSink", "Deliver", "QueryPlace", "RowsSink", "open_sink", "open_sinks"]
