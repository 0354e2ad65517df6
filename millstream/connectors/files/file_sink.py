"""A sink of files: a folder, or one file that grows."""

from __future__ import annotations

from collections.abc import Collection

from millstream.catalog.definitions import Sink
from millstream.connectors.files.folder import FolderSink
from millstream.connectors.files.single_file import SingleFileSink, is_single_file
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.batch_sink import BatchSink
from millstream.spark.host import Host


def file_sink(
    host: Host, sink: Sink, options: dict[str, object], place: QueryPlace, endings: Collection[str] = ()
) -> BatchSink:
    """The folder that an address means, or the single file if it has one of these endings."""
    path, kind = host.path(sink.address), sink.address.kind
    if is_single_file(path, endings):
        return SingleFileSink(host.spark, path, kind, options, place)
    return FolderSink(host.spark, path, kind, options, place, host.written)
