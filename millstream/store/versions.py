"""Versions of stored rows: folders of files of Parquet that never change, the newest of which is what there is."""

from __future__ import annotations

import re
import shutil
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from millstream.store.on_disk import sync

GRACE_SECONDS = 60.0
"""So long a version that is not the newest stays: who has asked for it may not have opened its files yet."""

VERSIONS = "v" + "[0-9]" * 12
"""The names of versions, as a pattern."""

_NAME = re.compile(r"v(\d{12})")


class Versions:
    """The versions in a folder. One is made aside and renamed into place: readers see the old one or the new one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.RLock()
        self._held: Counter[Path] = Counter()
        self._replaced: dict[Path, float] = {}
        for left in root.glob(".new-*"):
            shutil.rmtree(left, ignore_errors=True)

    def newest(self) -> Path | None:
        """The folder of the newest version, None if there is none yet."""
        return max(self._all(), default=None)

    def make(self, fill: Callable[[Path], None], durable: bool = True) -> Path:
        """A new version with the files that are put into its folder; a `durable` one is on disk when it is there."""
        with self._lock:
            self.root.mkdir(parents=True, exist_ok=True)
            aside = self.root / f".new-{uuid.uuid4().hex[:8]}"
            aside.mkdir()
            try:
                fill(aside)
                for file in aside.iterdir() if durable else ():
                    sync(file)
                before = self.newest()
                number = int(before.name[1:]) + 1 if before is not None else 1
                made = self.root / f"v{number:012d}"
                aside.rename(made)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
            if durable:
                sync(self.root)
            self._retire(made)
            return made

    def hold(self, version: Path) -> None:
        """Keep a version until it is let go of."""
        with self._lock:
            self._held[version] += 1

    def let_go(self, version: Path) -> None:
        """Say that one that was held is read no more."""
        with self._lock:
            self._held[version] -= 1

    def _all(self) -> list[Path]:
        if not self.root.is_dir():
            return []
        return [path for path in self.root.iterdir() if _NAME.fullmatch(path.name)]

    def _retire(self, newest: Path) -> None:
        """Remove the versions that nobody reads any more."""
        now = time.monotonic()
        for version in self._all():
            if version != newest:
                replaced = self._replaced.setdefault(version, now)
                if self._held[version] <= 0 and now - replaced > GRACE_SECONDS:
                    shutil.rmtree(version, ignore_errors=True)
                    del self._replaced[version]
