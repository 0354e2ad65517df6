"""One file that grows, for addresses such as `csv:out/result.csv`: batches are appended at a remembered length."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millstream.errors import RunError
from millstream.spark.paths import is_local
from millstream.spark.sinks.place import QueryPlace
from millstream.spark.sinks.text import as_text, writer_options

SUFFIXES = {"csv": {".csv", ".tsv", ".txt"}, "json": {".json", ".jsonl", ".ndjson"}}
RECORD = "sink"


def is_single_file(path: str, kind: str) -> bool:
    """Whether a sink's address means one file: by its ending, unless a folder of that name is already there."""
    return is_local(path) and Path(path).suffix in SUFFIXES.get(kind, set()) and not Path(path).is_dir()


class SingleFileSink:
    """Each row exactly once, across crashes: what lies beyond the remembered length is cut off before a batch."""

    def __init__(
        self, spark: SparkSession, path: str, kind: str, options: dict[str, object], place: QueryPlace
    ) -> None:
        if options["partition_by"]:
            raise RunError(f"partition_by: {path} is a single file\nhelp: use a folder, as 'csv:out/result'")
        self._path = Path(path.removeprefix("file:"))
        self._kind = kind
        self._header = kind == "csv" and bool(options["header"])
        self._options = writer_options(kind, options)
        self._place = place
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if place.fresh and options["mode"] == "overwrite":
            self._path.unlink(missing_ok=True)
        if not place.load(RECORD):
            length = self._path.stat().st_size if self._path.exists() else 0
            place.save(RECORD, {"batch": -1, "length": length})

    def readied(self, frame: DataFrame) -> DataFrame:
        """Text where the format knows nothing else."""
        return as_text(frame, self._kind)

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write a batch aside, append it, and remember the new length."""
        record = self._place.load(RECORD)
        if batch <= record["batch"]:
            return 0
        staging = self._path.with_name(f".{self._path.name}-{uuid.uuid4().hex[:8]}")
        try:
            counted = Observation()
            rows = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
            rows.write.options(**self._options).format(self._kind).save(str(staging))
            length = self._append(sorted(staging.glob(f"part-*.{self._kind}")), record["length"])
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        self._place.save(RECORD, {"batch": batch, "length": length})
        return int(counted.get["rows"])

    def _append(self, parts: list[Path], length: int) -> int:
        with self._path.open("ab") as out:
            out.truncate(length)
            for part in parts:
                with part.open("rb") as rows:
                    if self._header and out.tell() > 0:
                        rows.readline()
                    shutil.copyfileobj(rows, out)
            out.flush()
            os.fsync(out.fileno())
            return out.tell()
