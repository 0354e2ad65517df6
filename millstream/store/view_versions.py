"""Versions of a view in files, for those who read files: made when someone asks, of one batch each."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pyarrow.parquet as pq

from millstream.store.versions import Versions
from millstream.store.view_store import ViewStore

REST = 10.0
"""Who follows a view is given a new version after so many times the time that it takes to write one."""


class ViewVersions:
    """The rows of a view as a version, all as of one batch."""

    def __init__(self, view: ViewStore, versions: Versions) -> None:
        self.view = view
        self.versions = versions
        self._lock = threading.Lock()
        self._made: tuple[int, Path] | None = None
        self._again = 0.0

    def now(self) -> Path:
        """The rows as they are now."""
        with self._lock:
            batch, rows = self.view.snapshot()
            if self._made is None or self._made[0] != batch:
                begun = time.monotonic()
                made = self.versions.make(lambda folder: pq.write_table(rows, folder / "rows.parquet"), durable=False)
                ended = time.monotonic()
                self._made, self._again = (batch, made), ended + REST * (ended - begun)
            return self._made[1]

    def recent_folder(self) -> Path:
        """The rows as they are now, or were a moment ago, if to write all of them takes long."""
        made = self._made
        return made[1] if made is not None and time.monotonic() < self._again else self.now()
