"""The folders of a mill: checkpoints, logs of pushed rows, stored tables."""

from __future__ import annotations

import fcntl
import shutil
import weakref
from dataclasses import replace
from pathlib import Path
from typing import IO

from millstream.connectors.sinks import QueryPlace
from millstream.errors import RunError
from millstream.mill.file_names import as_it_is, file_name
from millstream.mill.query_record import QueryRecord
from millstream.mill.trust import check_queries, make_ours
from millstream.spark.process.leftovers import LOCK, keep, new_folder


class Home:
    """A folder that one process at a time may use; a temporary one if none is given."""

    def __init__(self, root: Path | str | None = None) -> None:
        self.temporary = root is None
        self.root = (new_folder() if root is None else Path(root)).absolute()
        self._lock = _lock(self.root)
        # For those who forget to close: a temporary folder goes when the process does.
        self._cleaning = weakref.finalize(self, shutil.rmtree, self.root, ignore_errors=True)
        if not self.temporary:
            self._cleaning.detach()

    @property
    def spark_log(self) -> Path:
        """What Spark itself has to say."""
        return self.root / "spark.log"

    def log_of(self, stream: str) -> Path:
        """Where the rows that producers push to a stream are landed."""
        return self._folder("logs", stream)

    def table_folder(self, table: str) -> Path:
        """Where the rows of a stored table are."""
        return self._folder("tables", table)

    def query_folder(self, query: str) -> Path:
        """Where all is that belongs to a query."""
        return self._folder("queries", query)

    def query_place(self, name: str, now: QueryRecord) -> QueryPlace:
        """The folder of a query; what it remembers is only good for the same sources and the same kind of state."""
        folder = self.query_folder(name)
        file = folder / "query.json"
        record = QueryRecord.load(file)
        if record is None:
            folder.mkdir(parents=True, exist_ok=True)
            now.save(file)
            return QueryPlace(folder, now.id, fresh=True, new=True)
        fresh = not any((folder / "checkpoint" / "offsets").glob("[0-9]*"))
        if not fresh:
            try:
                record.check(name, now, folder)
            except RunError:
                fresh = QueryPlace(folder, record.id, fresh=False).has_done_nothing
                if not fresh:
                    raise
        if fresh:
            # It never came to the end of a first batch: there is nothing to go on from, whatever it was to read.
            for left in ("checkpoint", "control"):
                shutil.rmtree(folder / left, ignore_errors=True)
        replace(now, id=record.id).save(file)
        return QueryPlace(folder, record.id, fresh=fresh)

    def undo(self, place: QueryPlace) -> None:
        """A query has not started: if it is new, nothing of it stays, and its name is free."""
        if place.new:
            shutil.rmtree(place.folder, ignore_errors=True)

    def forget_query(self, name: str) -> None:
        """Remove what a dropped query had kept: a new one of that name begins anew."""
        shutil.rmtree(self.query_folder(name), ignore_errors=True)

    def _folder(self, kind: str, name: str) -> Path:
        """The folder of a name: one that an earlier version made goes on, for a checkpoint must not be moved."""
        folder, earlier = self.root / kind / file_name(name), as_it_is(name)
        if earlier is not None and not folder.exists() and _exists(self.root / kind / earlier):
            return self.root / kind / earlier
        return folder

    def close(self, keep_log: bool = False) -> None:
        """Let go of the folder; a temporary one is removed, but for Spark's log if that is wanted."""
        self._lock.close()
        if keep_log and self._cleaning.detach():
            keep(self.root)
            (self.root / LOCK).unlink(missing_ok=True)  # a folder with a lock is removed when its owner is dead
            for entry in self.root.iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
        self._cleaning()


def _exists(path: Path) -> bool:
    """Whether it is there; what is too long to be the name of a file is not."""
    try:
        return path.exists()
    except OSError:
        return False


def _lock(root: Path) -> IO[str]:
    try:
        make_ours(root)
        check_queries(root / "queries")
        file = (root / LOCK).open("w")
    except FileExistsError as problem:
        place = problem.filename or root
        raise RunError(f"the checkpoint folder {root} cannot be used: {place} is a file\nhelp: name a folder") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise RunError(f"the checkpoint folder {root} cannot be used: {reason}\nhelp: name another folder") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise RunError(
            f"another process uses the checkpoint folder {root}\nhelp: stop it first, or give another --checkpoint"
        ) from None
    return file
