"""Keeps rows in this process, to be read by its program."""

from __future__ import annotations

from millstream.catalog.definitions import Sink
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.rows_sink import Deliver, RowsSink
from millstream.spark.host import Host


def sink(host: Host, sink: Sink, options: dict[str, object], place: QueryPlace, deliver: Deliver) -> RowsSink:
    """Hands each micro-batch over."""
    return RowsSink(deliver)
