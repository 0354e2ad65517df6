"""The rows that queries and statements put into a stream: files of Parquet, one for each batch, in order."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

STATEMENT = "statement"
"""The writer of rows that are written out; each of them counts."""

_NAME = re.compile(r"(\d{12})-(\w+)-(\d{12})\.parquet")
_APART = 1_000_000
"""Who reads takes the oldest files first, and tells ages apart by milliseconds."""


class Feed:
    """A folder of files in the order in which they were put there. A batch of a writer that comes again is known."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".*.new"):
            left.unlink()
        names = [found for path in folder.iterdir() if (found := _NAME.fullmatch(path.name))]
        self._written = {(name[2], int(name[3])) for name in names}
        self._next = max((int(name[1]) for name in names), default=-1) + 1
        self._moment = max((path.stat().st_mtime_ns for path in folder.glob("*.parquet")), default=0)

    def forget(self, writer: str) -> None:
        """Remove what a writer has put there that begins anew: its batches will be others."""
        with self._lock:
            for path in self.folder.glob(f"*-{writer}-*.parquet"):
                path.unlink()
            self._written = {(name, number) for name, number in self._written if name != writer}

    def add(self, rows: pa.Table, writer: str, batch: int | None = None) -> bool:
        """Put the rows of a batch there; False if they are there already, from before a crash."""
        with self._lock:
            number = self._next if batch is None else batch
            if (writer, number) in self._written:
                return False
            if rows.num_rows:
                name = f"{self._next:012d}-{writer}-{number:012d}.parquet"
                new = self.folder / f".{name}.new"
                pq.write_table(rows, new)
                self._moment = max(time.time_ns(), self._moment + _APART)
                os.utime(new, ns=(self._moment, self._moment))
                new.rename(self.folder / name)
                self._next += 1
                self._written.add((writer, number))
            return True
