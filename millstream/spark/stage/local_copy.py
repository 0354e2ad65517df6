"""A copy of the blobs of a bucket in local files: Spark may run a bucket in another Python process each batch.

Reading the state back through Spark costs as much as a whole batch of work; files that were just written are still in
memory, whoever wrote them. The copy is never needed: it is used only if it proves to be of the right version.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from millstream.spark.process.leftovers import claim, copies, have_copies, remove

VERSION = ".version"


def copies_of(query: str) -> Path:
    """Where the copies of a query's buckets are, for this user of this machine."""
    return copies() / query


def claim_copies(query: str) -> None:
    """Say that the copies of a query are this process's: if it is killed, they are removed by the next one."""
    claim(copies_of(query))


def forget_copies(query: str) -> None:
    """Remove the copies of a query that has ended, as far as they are on this machine."""
    remove(copies_of(query))


class LocalCopy:
    """The files of one bucket: one per blob, and one that names the version and is there only if all else is."""

    def __init__(self, query: str, stage: int, bucket: int) -> None:
        self._query = query
        self._folder = copies_of(query) / f"{stage}-{bucket}"

    @property
    def _ours(self) -> bool:
        """Whether nobody else made the folder for us, to read our state or to give us one."""
        return bool(self._query) and have_copies()  # a query over tables runs once

    def load(self, version: int) -> dict[str, pa.Buffer] | None:
        """The blobs of that version; None if there is no such copy."""
        try:
            record = self._record() if self._ours else None
            if record is None or record["version"] != version:
                return None
            return {name: self._map(name) for name in record["names"]}
        except OSError:
            return None

    def save(self, old: int, new: int, puts: Mapping[str, bytes], deletes: Collection[str]) -> None:
        """Follow a change from one version to the next; a copy of another version is of no use any more."""
        try:
            if self._ours:
                self._follow(old, new, puts, deletes)
        except OSError:  # a full disk must not stop a query that does not need the copy
            shutil.rmtree(self._folder, ignore_errors=True)

    def _follow(self, old: int, new: int, puts: Mapping[str, bytes], deletes: Collection[str]) -> None:
        record: dict[str, Any] | None = self._record() if old else {"version": 0, "names": []}
        if record is None or record["version"] != old:
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self._folder / VERSION).unlink(missing_ok=True)
        for name in deletes:
            self._file(name).unlink(missing_ok=True)
        for name, blob in puts.items():
            self._write(self._file(name), blob)
        names = sorted((set(record["names"]) - set(deletes)) | set(puts))
        self._write(self._folder / VERSION, json.dumps({"version": new, "names": names}).encode())

    def fill(self, version: int, blobs: Mapping[str, bytes]) -> None:
        """Begin a copy with all blobs of a version."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self.save(0, version, blobs, ())

    def _record(self) -> dict[str, Any] | None:
        try:
            return dict(json.loads((self._folder / VERSION).read_bytes()))
        except (OSError, ValueError):
            return None

    def _file(self, name: str) -> Path:
        return self._folder / quote(name, safe="")

    def _map(self, name: str) -> pa.Buffer:
        with pa.memory_map(str(self._file(name))) as file:
            return file.read_buffer()

    @staticmethod
    def _write(file: Path, blob: bytes) -> None:
        # Renamed into place: someone may still read the old one.
        new = file.with_name(f"{file.name}.new")
        new.write_bytes(blob)
        new.replace(file)
