"""Discards rows."""

from __future__ import annotations

from millstream.catalog.definitions import Sink
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.rows_sink import Deliver
from millstream.spark.host import Host


def sink(host: Host, sink: Sink, options: dict[str, object], place: QueryPlace, deliver: Deliver) -> None:
    """Nothing: Spark discards the rows by itself."""
