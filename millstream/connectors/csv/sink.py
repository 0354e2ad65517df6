"""Rows in a folder of files of CSV, or one file."""

from __future__ import annotations

from millstream.catalog.definitions import Sink
from millstream.connectors.csv.spec import SPEC
from millstream.connectors.files.file_sink import file_sink
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.batch_sink import BatchSink
from millstream.connectors.writing.rows_sink import Deliver
from millstream.spark.host import Host


def sink(host: Host, sink: Sink, options: dict[str, object], place: QueryPlace, deliver: Deliver) -> BatchSink:
    """Keeps each row exactly once."""
    return file_sink(host, sink, options, place, SPEC.file_endings)
