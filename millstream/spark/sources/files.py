"""What all sources of files share: where they are, and how many of them a micro-batch takes."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.catalog.address import Address
from millstream.errors import RunError
from millstream.spark.host import Host
from millstream.spark.paths import is_glob, is_local


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


def limited(reader: DataStreamReader, options: dict[str, object]) -> DataStreamReader:
    """The reader with its bound on one micro-batch; Spark takes a bound on files or on bytes, not both."""
    if files := options.get("max_files_per_batch"):
        return reader.option("maxFilesPerTrigger", str(files))
    return reader.option("maxBytesPerTrigger", str(options["max_bytes_per_batch"]))
