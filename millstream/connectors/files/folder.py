"""A sink that is a folder of files. A batch is written aside and renamed into place, under names with its number."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millstream.connectors.files.file_record import missing_text, moved_to
from millstream.connectors.files.file_system import Files, is_hidden
from millstream.connectors.files.locked_folder import LockedFolder
from millstream.connectors.places.paths import is_local
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.text import as_text, writer_options
from millstream.errors import RunError, suggest

STAGING = ".staging-"
"""Before the name of a batch: where it is written aside. Queries that share a folder share nothing else."""

RECORD = "sink"


class FolderSink:
    """Each row exactly once, across crashes: a batch that comes again replaces its own files.

    Spark's file sink gives that only to readers of its `_spark_metadata`; others see the leavings of killed tasks.
    With `partition_by` there are folders in it, named after values, as `dt=2026-01-31/hm=12%3A05`.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        kind: str,
        options: dict[str, object],
        place: QueryPlace,
        written: dict[str, set[str]] | None = None,
    ) -> None:
        self._path = path
        self._kind = kind
        self._place = place
        self._mark = place.id
        self._options = writer_options(kind, options)
        self._files = Files(spark, path)
        self._partitions = cast("tuple[str, ...]", options["partition_by"])
        self._begun = False
        self._publishing = threading.Lock()
        self._folder = self._open_folder(place)
        # The marks of the queries that this mill has begun to write here with.
        others = ({} if written is None else written).setdefault(path, set())
        try:
            if place.fresh and options["mode"] == "overwrite":
                self._empty(tuple(others - {self._mark}))
        except BaseException:
            self.close()
            raise
        others.add(self._mark)

    def _open_folder(self, place: QueryPlace) -> LockedFolder | None:
        """The folder, if it is on this machine: one that was written to must still be there."""
        local = is_local(self._path)
        at = Path(self._path.removeprefix("file:"))
        before = None if place.fresh else place.load(RECORD).get("path")
        if before not in {None, self._path} and not (local and at.is_dir() and not Path(before).exists()):
            raise RunError(moved_to(before, self._path, place))
        if local and before is not None and not at.is_dir():
            raise RunError(missing_text(self._path, place))
        held = LockedFolder(at) if local else None
        if not local:
            self._files.make_folder(self._path)
        if not place.fresh:
            for left in self._files.folders(self._path):
                if left.startswith(f"{STAGING}{self._mark}"):
                    self._files.remove(f"{self._path}/{left}")
        if before != self._path:
            place.save(RECORD, {"path": self._path})
        return held

    def _empty(self, spared: tuple[str, ...]) -> None:
        """Remove what is there, but for what other queries of this mill have written since it was opened."""
        if self._folder is not None and not spared:
            self._folder.claim()
        if spared:
            folders = self._partition_folders()
            inner = [f"{folder}/{name}" for folder in folders for name in self._files.below(f"{self._path}/{folder}")]
            left = [name for name in (*self._data_files(), *inner) if not name.rpartition("/")[2].startswith(spared)]
        else:
            left = [*self._data_files(), *self._partition_folders()]
        for name in left:
            self._files.remove(f"{self._path}/{name}")

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Text where the format knows nothing else."""
        self._partitions = resolve_columns(self._partitions, frame.columns)
        return as_text(frame, self._kind)

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write a batch aside, then put it in the place of an earlier try at the same batch."""
        self._check_folder()
        staging, counted = self._staging_path(batch), Observation()
        rows = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
        rows.write.options(**self._options).format(self._kind).partitionBy(*self._partitions).save(staging)
        return self._publish(staging, batch, int(counted.get["rows"]))

    def takes(self, schema: pa.Schema) -> bool:
        """Whether tables of Arrow can be written without Spark, and the files are as Spark's."""
        plain = self._kind == "parquet" and self._folder is not None and not self._partitions
        return plain and not any(pt.is_timestamp(f.type) and f.type.tz is None for f in schema)

    def write_table(self, table: pa.Table, batch: int) -> int:
        """The same with a table, as Spark would write it."""
        self._check_folder()
        staging = self._staging_path(batch)
        Path(staging.removeprefix("file:")).mkdir(parents=True)
        file = f"{staging.removeprefix('file:')}/part-00000.snappy.parquet"
        pq.write_table(table, file, compression="snappy", use_deprecated_int96_timestamps=True, store_schema=False)
        return self._publish(staging, batch, table.num_rows)

    def _staging_path(self, batch: int) -> str:
        return f"{self._path}/{STAGING}{self._prefix(batch)}-{uuid.uuid4().hex[:8]}"

    def _prefix(self, batch: int) -> str:
        return f"{self._mark}-{batch:09d}"

    def _publish(self, staging: str, batch: int, written: int) -> int:
        with self._publishing:  # to stop a query waits for this, or it comes too late and finds the folder closed
            self._check_folder()
            self._remove_earlier_try(self._prefix(batch))
            # An empty batch leaves no file, but the first one does: readers then find the header and the types.
            if written or not self._data_files():
                for number, name in enumerate(self._files.below(staging)):
                    self._put(f"{staging}/{name}", name.rpartition("/")[0], f"{self._prefix(batch)}-{number:05d}")
        self._files.remove(staging)
        return written

    def _check_folder(self) -> None:
        if self._folder is not None and not self._folder.is_in_place:
            raise RunError(missing_text(self._path, self._place))

    def close(self) -> None:
        """Let go of the folder, once a batch that is being published is complete."""
        if self._folder is not None:
            with self._publishing:
                self._folder.close()

    def _remove_earlier_try(self, prefix: str) -> None:
        """Only the first batch of a run can have come before. Its files may lie in any folder, if options changed."""
        if not self._begun:
            for name in self._files.below(self._path):
                if name.rpartition("/")[2].startswith(prefix):
                    self._files.remove(f"{self._path}/{name}")
        self._begun = True

    def _put(self, file: str, folder: str, name: str) -> None:
        """Rename a file into place, into the same folder as it is in aside, and keep its ending."""
        into = f"{self._path}/{folder}" if folder else self._path
        if folder:
            self._files.make_folder(into)
        ending = re.search(r"(?:\.c\d+)?(\.[^/]*)$", file)
        self._files.move(file, f"{into}/{name}{ending[1] if ending else ''}")

    def _data_files(self) -> list[str]:
        return [n for n in self._files.names(self._path) if not is_hidden(n)]

    def _partition_folders(self) -> list[str]:
        starts = tuple(f"{column.lower()}=" for column in self._partitions[:1])
        return [n for n in self._files.folders(self._path) if n.lower().startswith(starts)]


def resolve_columns(names: Iterable[str], columns: list[str]) -> tuple[str, ...]:
    """The columns of these names, in any case, that rows are parted by; at least one column must be left."""
    by_name = {column.lower(): column for column in columns}
    for name in names:
        if name.lower() not in by_name:
            raise RunError(f"partition_by: the query has no column '{name}'\nhelp: {suggest(name, columns)}")
        if is_hidden(name):
            raise RunError(f"partition_by: readers pass over folders such as '{name}=1'\nhelp: rename it with AS")
    found = tuple(by_name[name.lower()] for name in names)
    if len(found) == len(columns):
        raise RunError("partition_by: no column is left for the files\nhelp: select another one beside these")
    return found
