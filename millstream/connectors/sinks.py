"""Opens sinks, by the kind of their address."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from millstream.catalog.definitions import Sink
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.registry import options_of
from millstream.connectors.writing.batch_sink import BatchSink
from millstream.connectors.writing.rows_sink import Deliver, RowsSink
from millstream.connectors.writing.split import SplitSink
from millstream.spark.host import Host


def open_sink(host: Host, sink: Sink, place: QueryPlace, deliver: Deliver) -> BatchSink | None:
    """The sink that a query writes to; None if Spark discards the rows by itself (`noop:`)."""
    module = import_module(f"millstream.connectors.{sink.address.kind}.sink")
    opened: BatchSink | None = module.sink(host, sink, options_of(sink), place, deliver)
    return opened


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
