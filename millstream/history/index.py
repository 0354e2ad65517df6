"""The index of a log: which pieces of which files hold which positions, and what is known of their rows.

It is a small SQLite database, for three reasons: a batch is landed, a piece trimmed, and several compacted in one
transaction each; readers in other processes see all of such a step or nothing; and it survives a kill at any moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from millstream.errors import RunError

FILE = "index.db"
_PATIENCE_SECONDS = 60.0

_TABLES = """
    CREATE TABLE IF NOT EXISTS pieces (
        position INTEGER PRIMARY KEY, rows INTEGER NOT NULL, tuples INTEGER NOT NULL, rejected INTEGER NOT NULL,
        file TEXT NOT NULL, skip INTEGER NOT NULL, bytes INTEGER NOT NULL,
        oldest INTEGER, newest INTEGER, so_far INTEGER, landed INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value INTEGER) STRICT, WITHOUT ROWID;
"""


class Piece(NamedTuple):
    """Rows that stand together in a file of the log, from the one behind `skip` others.

    Times are microseconds: `oldest` and `newest` of the time stamps of its tuples, `so_far` the newest of the stream
    at its end, and when it was `landed`.
    """

    position: int
    rows: int
    tuples: int
    rejected: int
    file: str
    skip: int
    bytes: int
    oldest: int | None
    newest: int | None
    so_far: int | None
    landed: int

    @property
    def end(self) -> int:
        """The position behind its last row."""
        return self.position + self.rows


@dataclass(frozen=True)
class Extent:
    """What a log holds: its first and its last position, and what was trimmed before."""

    begin: int = 0
    end: int = 0
    trimmed_newest: int | None = None
    trimmed_landed: int | None = None
    batch: int = -1
    so_far: int | None = None
    landed: int | None = None
    promised: int | None = None


class Index:
    """The index of a log in a folder; a reader that finds none sees an empty log."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def make(self) -> None:
        """Make it, if it is not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._open() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(_TABLES)

    @property
    def extent(self) -> Extent:
        """From where to where the log goes."""
        if not (self.folder / FILE).exists():
            return Extent()
        with self._open() as db:
            known = dict(db.execute("SELECT name, value FROM state").fetchall())
            return Extent(**known)

    def pieces(self, start: int = 0, stop: int | None = None) -> list[Piece]:
        """The pieces that hold rows from one position to before another."""
        if not (self.folder / FILE).exists():
            return []
        with self._open() as db:
            found = db.execute(
                "SELECT * FROM pieces WHERE position + rows > ? AND position < ? ORDER BY position",
                (start, (1 << 62) if stop is None else stop),
            )
            return [Piece(*row) for row in found]

    def totals(self) -> tuple[int, int, int, int | None, int | None]:
        """Tuples, rejected rows, bytes, and the oldest and the newest time stamp of all that is kept."""
        if not (self.folder / FILE).exists():
            return 0, 0, 0, None, None
        with self._open() as db:
            row = db.execute(
                "SELECT coalesce(sum(tuples), 0), coalesce(sum(rejected), 0), coalesce(sum(bytes), 0), "
                "min(oldest), max(newest) FROM pieces"
            ).fetchone()
            return tuple(row)

    def first_since(self, time: int) -> int:
        """The first position such that all tuples with this time stamp, or a later one, are there or behind it."""
        if not (self.folder / FILE).exists():
            return 0
        with self._open() as db:
            row = db.execute("SELECT min(position) FROM pieces WHERE newest >= ?", (time,)).fetchone()
            if row[0] is not None:
                return int(row[0])
        return self.extent.end

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is durable at its end, or nothing has happened."""
        with self._open() as db:
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.folder / FILE, _PATIENCE_SECONDS, isolation_level=None)) as db:
                yield db
        except sqlite3.DatabaseError as problem:
            raise RunError(
                f"the index of the history in {self.folder} cannot be used: {problem}\n"
                "help: bring it back; or drop the stream, and its history begins anew"
            ) from problem


def insert(db: sqlite3.Connection, piece: Piece) -> None:
    """Add a piece."""
    db.execute("INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", piece)


def remember(db: sqlite3.Connection, **state: int | None) -> None:
    """Change what is known of the whole log."""
    db.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", list(state.items()))
