"""The stored catalog: the text of each definition that is in force, with its versions, in one file of SQLite."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millstream.catalog.catalog import Key
from millstream.errors import RunError

FORMAT = 1
"""The version of the tables; a file of a later one is refused."""

RUNNING, STOPPED = "running", "stopped"
"""What is wanted of a query."""

CREATING, DROPPING, RENAMING = "creating", "dropping", "renaming"
"""What was begun with a query and is not yet complete."""

_TABLES = """
CREATE TABLE IF NOT EXISTS definition (
  id INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL,
  name TEXT NOT NULL, text TEXT NOT NULL, base TEXT NOT NULL, details TEXT NOT NULL, folder TEXT, wanted TEXT,
  pending TEXT, left_over TEXT, version INTEGER NOT NULL, created TEXT NOT NULL, changed TEXT NOT NULL,
  UNIQUE (space, key));
CREATE TABLE IF NOT EXISTS version (
  definition INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
  base TEXT NOT NULL, details TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (definition, version));
"""
_OF_THE_DISK = ("disk is full", "disk I/O error")
"""What SQLite says where not the file is at fault."""

_COLUMNS = (
    "id, space, key, kind, name, text, base, details, folder, wanted, pending, left_over, version, created, changed"
)


@dataclass(frozen=True)
class Entry:
    """A stored definition: its text, which is bound again when a mill resumes, and what else it depends on.

    `base` is the folder that relative addresses start from. `details` are the settings of a query, or the columns of
    a stored table. `folder` is the file name of the folder that it has in its home. Of a query it says what is
    `wanted`, what is `pending`, and which folder is `left_over` and to be removed. A query that was refused leaves no
    entry; one that has none yet has the id 0.
    """

    space: str
    kind: str
    name: str
    text: str
    base: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None
    wanted: str | None = None
    pending: str | None = None
    left_over: str | None = None
    id: int = 0
    version: int = 0
    created: str = ""
    changed: str = ""

    @property
    def key(self) -> Key:
        """What no other entry has."""
        return self.space, self.name.lower()

    @property
    def substance(self) -> tuple[object, ...]:
        """What makes another version if it changes."""
        return self.kind, self.name, self.text, self.base, dict(self.details)


@dataclass(frozen=True)
class Version:
    """A version of a definition, and since when it was in force."""

    number: int
    name: str
    text: str
    at: str


class CatalogStore:
    """The entries, in the order in which they were made. Each change is complete and on disk, or has not happened."""

    def __init__(self, file: Path, durable: bool = True, clock: Callable[[], datetime] | None = None) -> None:
        self._file = file
        self._clock = clock or (lambda: datetime.now(UTC))
        self._lock = threading.RLock()
        self._depth = 0
        with self._explain_failures():
            self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        try:
            with self._explain_failures():
                self._open(durable)
        except BaseException:
            self._db.close()
            raise

    def _open(self, durable: bool) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
        found = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if found > FORMAT:
            raise RunError(
                f"{self._file} was written by a later version of Millstream\nhelp: use that version, or another folder"
            )
        with self.transaction():
            for statement in _TABLES.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {FORMAT}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is changed within is changed as one; if it fails, nothing is."""
        with self._lock, self._explain_failures():
            outermost = self._depth == 0
            if outermost:
                self._db.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if outermost:
                    self._db.execute("ROLLBACK")
                raise
            self._depth -= 1
            if outermost:
                self._db.execute("COMMIT")

    def entries(self) -> list[Entry]:
        """All of them, the oldest first."""
        with self._lock, self._explain_failures():
            return [_entry(row) for row in self._db.execute(f"SELECT {_COLUMNS} FROM definition ORDER BY id")]  # noqa: S608

    def find(self, key: Key) -> Entry | None:
        """The entry that has a key."""
        with self._lock, self._explain_failures():
            found = self._db.execute(f"SELECT {_COLUMNS} FROM definition WHERE space = ? AND key = ?", key).fetchone()  # noqa: S608
        return None if found is None else _entry(found)

    def at(self, id_: int) -> Entry | None:
        """The entry that has an id."""
        with self._lock, self._explain_failures():
            return self._at(id_)

    def put(self, entry: Entry) -> Entry:
        """Store an entry, in place of the one of its id; it is a new version if its substance is another one."""
        now = self._clock().isoformat(timespec="milliseconds")
        with self.transaction():
            old = self._at(entry.id)
            if old is None:
                kept = replace(entry, version=1, created=now, changed=now)
                kept = replace(kept, id=self._insert(kept))
            else:
                new = old.substance != entry.substance
                moved = new or old.wanted != entry.wanted
                kept = replace(
                    entry, version=old.version + new, created=old.created, changed=now if moved else old.changed
                )
                self._write(kept)
            if old is None or kept.version != old.version:
                self._db.execute(
                    "INSERT OR REPLACE INTO version VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (kept.id, kept.version, kept.name, kept.text, kept.base, _json(kept.details), now),
                )
        return kept

    def restore(self, entry: Entry) -> None:
        """Put an entry back as it was, and forget versions that it had since."""
        with self.transaction():
            self._write(entry)
            self._db.execute("DELETE FROM version WHERE definition = ? AND version > ?", (entry.id, entry.version))

    def remove(self, entry: Entry) -> None:
        """Remove an entry with its versions."""
        with self.transaction():
            self._db.execute("DELETE FROM definition WHERE id = ?", (entry.id,))
            self._db.execute("DELETE FROM version WHERE definition = ?", (entry.id,))

    def versions(self, entry: Entry) -> list[Version]:
        """The versions of an entry, the oldest first."""
        asked = "SELECT version, name, text, at FROM version WHERE definition = ? ORDER BY version"
        with self._lock, self._explain_failures():
            return [Version(*row) for row in self._db.execute(asked, (entry.id,))]

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    def _at(self, id_: int) -> Entry | None:
        found = self._db.execute(f"SELECT {_COLUMNS} FROM definition WHERE id = ?", (id_,)).fetchone()  # noqa: S608
        return None if found is None else _entry(found)

    def _insert(self, entry: Entry) -> int:
        marks = ", ".join("?" * (len(_COLUMNS.split(", ")) - 1))
        columns = _COLUMNS.partition(", ")[2]
        made = self._db.execute(f"INSERT INTO definition ({columns}) VALUES ({marks})", _row(entry)[1:])  # noqa: S608
        return int(made.lastrowid or 0)

    def _write(self, entry: Entry) -> None:
        marks = ", ".join("?" * len(_COLUMNS.split(", ")))
        # An entry that takes the key of another one is a fault of the caller: the constraint says so.
        self._db.execute("DELETE FROM definition WHERE id = ?", (entry.id,))
        self._db.execute(f"INSERT INTO definition ({_COLUMNS}) VALUES ({marks})", _row(entry))  # noqa: S608

    @contextmanager
    def _explain_failures(self) -> Iterator[None]:
        """Problems with the file, in a sentence."""
        try:
            yield
        except UnicodeEncodeError as problem:
            text = f"what is not Unicode cannot be stored: {problem.object[problem.start : problem.end]!a}"
            raise RunError(f"{text}\nhelp: choose another name or text") from None
        except (sqlite3.Error, json.JSONDecodeError) as problem:
            out = "bring it back; or remove it, and run the scripts again that made it: the queries carry on"
            if any(word in str(problem) for word in _OF_THE_DISK):
                out = "make room on its disk, and look whether that is in order; the catalog is as it was"
            raise RunError(f"the catalog {self._file} cannot be used: {problem}\nhelp: {out}") from problem


def _row(entry: Entry) -> tuple[object, ...]:
    return (
        *(entry.id, entry.space, entry.name.lower(), entry.kind, entry.name, entry.text, entry.base),
        *(_json(entry.details), entry.folder, entry.wanted, entry.pending, entry.left_over),
        *(entry.version, entry.created, entry.changed),
    )


def _entry(row: tuple[Any, ...]) -> Entry:
    known = dict(zip(_COLUMNS.split(", "), row, strict=True))
    del known["key"]
    return Entry(**{**known, "details": json.loads(known["details"])})


def _json(details: Mapping[str, Any]) -> str:
    return json.dumps(dict(details), sort_keys=True)
