"""The number of micro-batches that it takes to read the files that exist."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from millstream.catalog.definitions import Stream
from millstream.connectors.files.file_system import is_hidden
from millstream.connectors.places.paths import is_local, places
from millstream.connectors.registry import connector, options_of
from millstream.spark.host import Host


def batches_of(host: Host, streams: Iterable[Stream]) -> int | None:
    """How many micro-batches it takes to read the files that are there now, at the most; None if that is not known."""
    found = 1
    for stream in streams:
        if stream.keep is not None or stream.source is None or not connector(stream.source).files:
            return None
        path = host.path(stream.source)
        if not is_local(path):
            return None
        options = options_of(stream)
        candidates = (f for place in places(path) for f in (place.rglob("*") if place.is_dir() else [place]))
        # Spark reads `_day=7`: rather a batch too many than an end that comes too early.
        files = [f for f in candidates if f.is_file() and ("=" in f.name or not is_hidden(f.name))]
        if limit := cast("int | None", options["max_files_per_batch"]):
            found = max(found, -(-len(files) // limit))
        elif sum(f.stat().st_size for f in files) > cast("int", options["max_bytes_per_batch"]):
            return None  # where the cuts are depends on the order of the files
    return found
