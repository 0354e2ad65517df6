"""Lists of files for Spark's readers: their paths, and the size of a micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.catalog.address import Address
from millstream.catalog.definitions import OnBadFile, Stream
from millstream.connectors.files.file_system import is_hidden
from millstream.connectors.places.aliases import file_alias, folder_alias, is_special, with_letters
from millstream.connectors.places.paths import (
    escape_pattern,
    is_local,
    is_parted,
    is_pattern,
    split_existing,
    strip_scheme,
)
from millstream.errors import RunError
from millstream.spark.host import Host
from millstream.spark.process.local_files import CLASS_NAME, reads_any_name

RAW = "org.apache.hadoop.fs.RawLocalFileSystem"
"""Hadoop's usual local file system looks for a checksum beside each file, and fails for names with a colon."""

FILES_SCHEMA = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
"""The columns of files that are not opened by Spark."""

STREAM = "millstream.stream"
"""The option of a source that names its stream."""

LITERAL = {"__globPaths__": "false"}
"""Paths are those of files and folders, and no patterns."""

ANY_AGE = {"maxFileAge": "1000000d"}
"""Spark passes over files that are a week older than the newest it has seen: any file that appears is read."""


def source_path(host: Host, source: Address, owner: str) -> str:
    """The absolute path of a source; a single file or folder on this machine must be there."""
    path = host.path(source)
    if not is_local(path):
        return path
    path = strip_scheme(path)
    if is_pattern(path):
        return path
    if not Path(path).exists():
        raise RunError(
            f"{owner} reads {source}, and there is no {path}\n"
            "help: create the file or folder first, or correct the SOURCE (paths are relative to the script)"
        )
    if Path(path).is_file() and is_hidden(Path(path).name):
        raise RunError(
            f"{owner} reads {source}, and readers pass over files whose names begin with '.' or '_'\n"
            "help: give the file another name"
        )
    return path


def rejects_bad_files(stream: Stream, path: str) -> bool:
    """Whether bad files are to be found before any of their rows is read: that takes files which we open ourselves."""
    if stream.on_bad_file is not OnBadFile.REJECT:
        return False
    if is_local(path) and not is_parted(path):
        return True
    where = "in folders that are named after values, as day=7" if is_local(path) else "elsewhere than on this machine"
    raise RunError(
        f"stream {stream.name} says ON BAD FILE REJECT, and its files are {where}\n"
        "help: say ON BAD FILE STOP: Spark reads these, and it cannot pass over a bad file"
    )


def stream_reader(
    spark: SparkSession, path: str, options: Mapping[str, object] | None = None, stream: str = ""
) -> DataStreamReader:
    """A reader of files that are there and that appear: it knows the path, and how much one micro-batch takes.

    The `stream` is told to whoever asks which source is whose.
    """
    reader = spark.readStream.options(**ANY_AGE, **{STREAM: stream})
    if options is not None:
        reader = _limit_batch(reader, options)
    if not is_local(path):
        return reader.option("path", path)
    place, names = _split_listing(path)
    reader = reader.options(**_any_name(spark)).option("path", place)
    return reader if names is None else reader.option("pathGlobFilter", names)


def table_reader(spark: SparkSession, path: str) -> DataFrameReader:
    """A reader of the files that are there now: it knows the path."""
    if not is_local(path):
        return spark.read.option("path", path)
    reader = spark.read.options(**_any_name(spark))
    if reads_any_name(spark):
        there, rest = split_existing(path)
        return reader.option("path", with_letters(there) + rest)
    return (
        reader.option("path", escape_pattern(path))
        if is_pattern(path)
        else reader.option("path", path).options(**LITERAL)
    )


def _any_name(spark: SparkSession) -> dict[str, str]:
    """Options with which files of all names are read, or of all that are no patterns where our class is missing."""
    return {
        "fs.file.impl": f"{CLASS_NAME}$AnyName" if reads_any_name(spark) else RAW,
        "fs.file.impl.disable.cache": "true",
    }


def _split_listing(path: str) -> tuple[str, str | None]:
    """What Spark lists: a folder, and which names there are wanted; or a pattern.

    Spark follows folders and patterns. It fails for a pattern of files if there is a colon in one of their names, so
    there is none where a folder will do: where that has no others in it, which Spark would list, too.
    """
    folder, name = Path(path).parent, Path(path).name
    if not is_pattern(path):
        if not Path(path).is_file():
            return folder_alias(path), None
        if is_special(path) or any(":" in file.name for file in folder.iterdir()):
            return file_alias(path), None
        return f"{path[:-1]}[{path[-1]}]", None
    if is_pattern(str(folder)) or not folder.is_dir() or any(p.is_dir() for p in folder.iterdir()):
        there, rest = split_existing(path)
        return folder_alias(there) + rest, None
    return folder_alias(str(folder)), name


def _limit_batch(reader: DataStreamReader, options: Mapping[str, object]) -> DataStreamReader:
    """The reader with its bound on one micro-batch; Spark takes a bound on files or on bytes, not both."""
    if files := options.get("max_files_per_batch"):
        return reader.option("maxFilesPerTrigger", str(files))
    return reader.option("maxBytesPerTrigger", str(options["max_bytes_per_batch"]))
