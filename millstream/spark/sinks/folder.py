"""A folder of files. A batch's files are written aside and then renamed into place, under names made of its number."""

from __future__ import annotations

import uuid

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millstream.spark.files import Files
from millstream.spark.sinks.place import QueryPlace
from millstream.spark.sinks.text import as_text, writer_options

STAGING = ".staging"


class FolderSink:
    """Each row exactly once, across crashes: a batch that comes again replaces its own files.

    Spark's file sink gives that only to readers of its `_spark_metadata`; others see the leavings of killed tasks.
    """

    def __init__(
        self, spark: SparkSession, path: str, kind: str, options: dict[str, object], place: QueryPlace
    ) -> None:
        self._path = path
        self._kind = kind
        self._mark = place.id
        self._options = writer_options(kind, options)
        self._files = Files(spark, path)
        self._files.make_folder(path)
        for left in self._files.folders(f"{path}/{STAGING}"):
            if left.startswith(self._mark):
                self._files.remove(f"{path}/{STAGING}/{left}")
        if place.fresh and options["mode"] == "overwrite":
            for name in self._data_files():
                self._files.remove(f"{path}/{name}")

    def readied(self, frame: DataFrame) -> DataFrame:
        """Text where the format knows nothing else."""
        return as_text(frame, self._kind)

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write a batch aside, then put it in the place of an earlier try at the same batch."""
        prefix = f"{self._mark}-{batch:09d}"
        staging = f"{self._path}/{STAGING}/{prefix}-{uuid.uuid4().hex[:8]}"
        counted = Observation()
        rows = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
        rows.write.options(**self._options).format(self._kind).save(staging)
        written = int(counted.get["rows"])
        for name in self._data_files():
            if name.startswith(prefix):
                self._files.remove(f"{self._path}/{name}")
        # An empty batch leaves no file, but the first one does: readers then find the header and the types.
        if written or not self._data_files():
            parts = [n for n in self._files.names(staging) if not n.startswith((".", "_"))]
            for number, name in enumerate(parts):
                suffix = name[name.index(".") :]
                self._files.move(f"{staging}/{name}", f"{self._path}/{prefix}-{number:05d}{suffix}")
        self._files.remove(staging)
        if not self._files.folders(f"{self._path}/{STAGING}"):
            self._files.remove(f"{self._path}/{STAGING}")
        return written

    def _data_files(self) -> list[str]:
        return [n for n in self._files.names(self._path) if not n.startswith((".", "_"))]
