"""A sink that is one growing file, such as `csv:out/result.csv`: batches are appended at a recorded length."""

from __future__ import annotations

import contextlib
import csv
import io
import shutil
import threading
import uuid
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millstream.connectors.files.file_record import FileRecord, missing_text, moved_to
from millstream.connectors.files.locked_file import LockedFile
from millstream.connectors.places.paths import is_local
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.text import as_text, writer_options
from millstream.errors import RunError

STAGING = ".staging-"
"""Before the id of a query: what it writes beside the file, to be appended."""


def is_single_file(path: str, endings: Collection[str]) -> bool:
    """Whether a path means one file: by its ending, unless a folder of that name is already there."""
    return is_local(path) and Path(path).suffix in endings and not Path(path).is_dir()


class SingleFileSink:
    """Each row exactly once, across crashes: what lies beyond the remembered length is cut off before a batch.

    The file is held from the start of the query to its end. One that is there before the first batch is appended to,
    if it ends with a line, and begins with the same header if it has one.
    """

    def __init__(
        self, spark: SparkSession, path: str, kind: str, options: dict[str, object], place: QueryPlace
    ) -> None:
        if options["partition_by"]:
            raise RunError(f"partition_by: {path} is a single file\nhelp: use a folder, as 'csv:out/result'")
        self._path = Path(path.removeprefix("file:"))
        self._kind = kind
        self._form = {"format": kind}
        self._form.update({n: str(options[n]) for n in ("header", "delimiter", "null") if n in options})
        self._header = kind == "csv" and bool(options["header"])
        self._delimiter = str(options.get("delimiter", ""))
        # The header is written once, here: each part of a batch would have one of its own.
        self._options = {**writer_options(kind, options), **({"header": "false"} if self._header else {})}
        self._place = place
        self._appending = threading.Lock()
        found = FileRecord.load(place)
        self._file = self._open_file(found)
        try:
            self._record = self._begin_record(found, emptied=place.fresh and options["mode"] == "overwrite")
        except BaseException:
            self._file.close()
            raise
        if not place.fresh:
            self._remove_staging()

    def _open_file(self, found: FileRecord | None) -> LockedFile:
        try:
            return LockedFile(self._path, create=found is None or not found.is_anywhere)
        except FileNotFoundError:
            assert found is not None  # noqa: S101  (else it would have been made)
            moved = found.path not in {"", str(self._path)}
            message = moved_to(found.path, self._path, self._place) if moved else missing_text(self._path, self._place)
            raise RunError(message) from None

    def _begin_record(self, found: FileRecord | None, emptied: bool) -> FileRecord:
        """The record to go on from."""
        if found is not None:
            found.check_file(self._file, self._place)
            return replace(found, path=str(self._path), inode=self._file.inode)
        if emptied:
            self._file.cut(0)
        length = self._file.size
        if not self._file.ends_a_line(length):
            raise RunError(
                f"{self._path} is there already, and ends in the middle of a line\n"
                "help: complete its last line, or choose another file, or OPTIONS (mode = 'overwrite')"
            )
        return FileRecord(-1, length, str(self._path), self._file.inode, self._file.tail(length), open=False)

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Text where the format knows nothing else."""
        columns = tuple(field.name for field in frame.schema)
        self._record.check_contents(self._path, columns, self._form)
        if self._record.columns is None:
            self._check_header(columns)
            self._record = replace(self._record, columns=columns, form=self._form)
            self._record.save(self._place)
        return as_text(frame, self._kind)

    def _check_header(self, columns: tuple[str, ...]) -> None:
        if not self._header or not self._record.length:
            return
        with self._path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            try:
                found = next(csv.reader(lines, delimiter=self._delimiter), [])
            except csv.Error:
                found = ["what is not CSV"]
        if tuple(found) != columns:
            raise RunError(
                f"{self._path} is there already and begins with {self._delimiter.join(found)[:200]}, and the query "
                f"would write {self._delimiter.join(columns)}\n"
                "help: choose another file, or OPTIONS (mode = 'overwrite')"
            )

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write a batch aside, append it, and remember the new length."""
        if batch <= self._record.batch:
            return 0
        staging = self._path.with_name(f"{STAGING}{self._place.id}-{uuid.uuid4().hex[:8]}")
        try:
            counted = Observation()
            rows = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
            rows.write.options(**self._options).format(self._kind).save(str(staging))
            self._append(sorted(staging.glob(f"part-*.{self._kind}")), batch)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return int(counted.get["rows"])

    def _append(self, parts: list[Path], batch: int) -> None:
        with self._appending:  # to stop a query waits for this, or it comes too late and finds the file closed
            record = self._record
            record.check_file(self._file, self._place)
            self._record = replace(record, open=True)
            self._record.save(self._place)
            self._file.cut(record.length)
            head = self._head() if self._header and not record.length else b""
            length = self._file.append(head, parts)
            tail = self._file.tail(length)
            self._record = replace(record, batch=batch, length=length, tail=tail, open=False)
            self._record.save(self._place)

    def _head(self) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerow(self._record.columns or ())
        return text.getvalue().encode()

    def _remove_staging(self) -> None:
        """What a batch that was killed had written aside."""
        for left in self._path.parent.glob(f"{STAGING}{self._place.id}-*"):
            shutil.rmtree(left, ignore_errors=True)

    def close(self) -> None:
        """Let go of the file, once a batch that is being appended is complete."""
        with self._appending, contextlib.suppress(OSError):
            self._file.close()
