"""What all sources of files share: where they are, and how many of them a micro-batch takes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.catalog.address import FILE_KINDS, Address
from millstream.catalog.definitions import Stream
from millstream.catalog.options import SOURCE_OPTIONS, read_options
from millstream.errors import RunError
from millstream.spark.files import is_hidden
from millstream.spark.host import Host
from millstream.spark.paths import is_glob, is_local, places


def source_path(host: Host, source: Address, owner: str) -> str:
    """The absolute path of a source; a single file or folder on this machine must be there."""
    path = host.path(source.rest)
    if is_local(path) and not is_glob(path) and not Path(path.removeprefix("file:")).exists():
        raise RunError(
            f"{owner} reads {source}, and there is no {path}\n"
            "help: create the file or folder first, or correct the SOURCE (paths are relative to the script)"
        )
    return path


def followed(path: str) -> str:
    """The path as a stream's source takes it: Spark follows folders and globs, so a single file becomes a glob.

    >>> followed("/no/such/a.csv")
    '/no/such/a.csv'
    """
    file = is_local(path) and not is_glob(path) and Path(path.removeprefix("file:")).is_file()
    return f"{path[:-1]}[{path[-1]}]" if file else path


def batches_of(host: Host, streams: Iterable[Stream]) -> int | None:
    """How many micro-batches it takes to read the files that are there now, at the most; None if that is not known."""
    found = 1
    for stream in streams:
        if stream.source is None or stream.source.kind not in FILE_KINDS:
            return None
        path = host.path(stream.source.rest)
        if not is_local(path):
            return None
        options = read_options(stream.options, SOURCE_OPTIONS[stream.source.kind], stream.source.kind)
        candidates = (f for place in places(path) for f in (place.rglob("*") if place.is_dir() else [place]))
        # Spark reads `_day=7`: rather a batch too many than an end that comes too early.
        files = [f for f in candidates if f.is_file() and ("=" in f.name or not is_hidden(f.name))]
        if limit := cast("int | None", options["max_files_per_batch"]):
            found = max(found, -(-len(files) // limit))
        elif sum(f.stat().st_size for f in files) > cast("int", options["max_bytes_per_batch"]):
            return None  # where the cuts are depends on the order of the files
    return found


def limited(reader: DataStreamReader, options: dict[str, object]) -> DataStreamReader:
    """The reader with its bound on one micro-batch; Spark takes a bound on files or on bytes, not both."""
    if files := options.get("max_files_per_batch"):
        return reader.option("maxFilesPerTrigger", str(files))
    return reader.option("maxBytesPerTrigger", str(options["max_bytes_per_batch"]))
