"""The folders of a mill: checkpoints, logs of pushed rows, stored tables."""

from __future__ import annotations

import fcntl
import shutil
import uuid
import weakref
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import IO

from millstream.connectors.places.query_place import HOLD
from millstream.connectors.sinks import QueryPlace
from millstream.errors import RunError
from millstream.mill.home.file_names import as_it_is, file_name, number_file_name
from millstream.mill.home.query_record import QueryRecord
from millstream.mill.home.trust import check_file, check_queries, make_ours
from millstream.spark.hosts.roster import Roster
from millstream.spark.process.leftovers import LOCK, keep, new_folder
from millstream.spark.run.whole_checkpoint import check_whole

HOSTS, QUERIES, LOGS, STREAMS, TABLES = "hosts", "queries", "logs", "streams", "tables"
"""The kinds of folders."""

MAKING = "making"
"""The file in the folder of a query that is there as long as the store does not know of the folder."""

HOST = "member"
"""The record that says in which host a query is a member."""


class Home:
    """A folder that one process at a time may use; a temporary one if none is given.

    Queries, logs and stored tables have folders in it, named after them. What is renamed keeps its folder: it was
    `given` that one, and nothing else is.
    """

    def __init__(self, root: Path | str | None = None) -> None:
        self.temporary = root is None
        self.root = (new_folder() if root is None else Path(root)).absolute()
        self._lock = _lock(self.root)
        self._given: dict[tuple[str, str], str] = {}
        # For those who forget to close: a temporary folder goes when the process does.
        self._cleaning = weakref.finalize(self, shutil.rmtree, self.root, ignore_errors=True)
        if not self.temporary:
            self._cleaning.detach()

    @property
    def catalog_file(self) -> Path:
        """The stored definitions."""
        return self.root / "catalog.db"

    @property
    def spark_log(self) -> Path:
        """What Spark itself has to say."""
        return self.root / "spark.log"

    def log_of(self, stream: str) -> Path:
        """Where the rows that producers push to a stream are landed."""
        return self._folder(LOGS, stream)

    def stream_folder(self, stream: str) -> Path:
        """Where the history of a kept stream is, and its reader."""
        return self._folder(STREAMS, stream)

    def history_of(self, stream: str) -> Path:
        """The log of a kept stream."""
        return self.stream_folder(stream) / "log"

    def feed_folder(self, stream: str) -> Path:
        """Where the rows are that are put into a stream without a source."""
        return self.stream_folder(stream) / "rows"

    def table_folder(self, table: str) -> Path:
        """Where the rows of a stored table are."""
        return self._folder(TABLES, table)

    def query_folder(self, query: str) -> Path:
        """Where all is that belongs to a query."""
        return self._folder(QUERIES, query)

    def give(self, kind: str, name: str, file: str) -> None:
        """Say which folder a name has, by its file name; `kind` is QUERIES, LOGS or TABLES."""
        self._given[kind, name.lower()] = file

    def take_back(self, kind: str, name: str) -> None:
        """Say that a name has no folder of its own any more."""
        self._given.pop((kind, name.lower()), None)

    def free_file(self, kind: str, name: str, taken: Collection[str]) -> str:
        """The file name for the folder of a new name, which is none of those that others have been given."""
        earlier = as_it_is(name)
        found = file_name(name) if earlier is None or not _exists(self.root / kind / earlier) else earlier
        number = 1
        while found in taken:
            number += 1
            found = number_file_name(file_name(name), number)
        return found

    def record_of(self, name: str) -> QueryRecord | None:
        """What a query has left, if it has done anything that a next run would go on from."""
        folder = self.query_folder(name)
        record = QueryRecord.load(folder / "query.json")
        if record is None or not self.has_begun(name):
            return None
        place = QueryPlace(folder, record.id, fresh=False, host=self.host_of(name))
        return None if place.has_done_nothing else record

    def write_record(self, name: str, record: QueryRecord) -> None:
        """Write down anew what the checkpoint of a query fits."""
        record.save(self.query_folder(name) / "query.json")

    def query_place(self, name: str, now: QueryRecord) -> QueryPlace:
        """The folder of a query; what it remembers is only good for the same sources and the same kind of state."""
        folder = self.query_folder(name)
        file = folder / "query.json"
        record = QueryRecord.load(file)
        check_whole(folder)
        fresh = not has_planned(folder)
        if record is None:
            if not fresh:
                raise RunError(f"{file} is gone\nhelp: bring it back, or remove {folder} to begin anew")
            folder.mkdir(parents=True, exist_ok=True)
            now.save(file)
            return QueryPlace(folder, now.id, fresh=True, new=True)
        if not fresh:
            try:
                record.check(name, now, folder)
            except RunError:
                fresh = QueryPlace(folder, record.id, fresh=False).has_done_nothing
                if not fresh:
                    raise
        (folder / f"{HOST}.json").unlink(missing_ok=True)
        if fresh:
            # It never came to the end of a first batch: there is nothing to go on from, whatever it was to read.
            for left in ("checkpoint", "control"):
                shutil.rmtree(folder / left, ignore_errors=True)
            (folder / "buckets.json").unlink(missing_ok=True)
        replace(now, id=record.id).save(file)
        return QueryPlace(folder, record.id, fresh=fresh)

    def make_place(self, file: str, record: QueryRecord) -> QueryPlace:
        """A folder of that name for a query that begins anew, which goes on in its old one as long as `MAKING` says."""
        folder = self.root / QUERIES / file
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / MAKING).touch()
        record.save(folder / "query.json")
        return QueryPlace(folder, record.id, fresh=True, new=True)

    def keep_place(self, file: str) -> None:
        """Say that a folder that was made for a query is in use now."""
        (self.root / QUERIES / file / MAKING).unlink(missing_ok=True)

    def forget_made(self, used: Collection[str]) -> None:
        """Remove the folders of which a process that was killed has not come to make use; others go on, unheld."""
        for hold in (*self.root.glob(f"{QUERIES}/*/{HOLD}"), *self.root.glob(f"{HOSTS}/*/*/{HOLD}")):
            hold.unlink()
        for folder in (self.root / QUERIES).glob("*"):
            if (folder / MAKING).exists():
                if folder.name in used:
                    self.keep_place(folder.name)
                else:
                    self.forget_folder(QUERIES, folder.name)

    def kept_buckets(self, query: str) -> int | None:
        """How many buckets the state of a query is in, if it has been started."""
        folder = self.host_of(query) or self.query_folder(query)
        return len(QueryPlace(folder, "", fresh=False).load("buckets")) or None

    def host_folder(self, stream: str, number: int) -> Path:
        """Where the progress and the state of a host are; a stream may have several, one after the other."""
        return self._folder(HOSTS, stream) / str(number)

    def host_place(self, folder: Path) -> QueryPlace:
        """The folder of a host. One that never came to a first batch begins anew."""
        check_whole(folder)
        fresh = not has_planned(folder)
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        place = QueryPlace(folder, uuid.uuid4().hex[:12], fresh)
        known = place.load("host")
        if known:
            return replace(place, id=str(known["id"]))
        place.save("host", {"id": place.id})
        return place

    def member_place(self, name: str, now: QueryRecord, host: QueryPlace) -> QueryPlace:
        """The folder of a query that is a member of a host, which keeps its progress."""
        folder = self.query_folder(name)
        file = folder / "query.json"
        record = QueryRecord.load(file)
        folder.mkdir(parents=True, exist_ok=True)
        if record is not None and not host.fresh:
            record.check(name, now, folder, alone=False)
        known = now if record is None else replace(now, id=record.id)
        known.save(file)
        place = QueryPlace(folder, known.id, host.fresh, record is None, host.folder)
        self.move_member(folder, host.folder)
        return place

    def joining_place(self, name: str, now: QueryRecord, host: Path) -> QueryPlace:
        """The folder of a query that is about to join a host that runs; it has not begun."""
        folder = self.query_folder(name)
        record = QueryRecord.load(folder / "query.json")
        folder.mkdir(parents=True, exist_ok=True)
        known = now if record is None else replace(now, id=record.id)
        known.save(folder / "query.json")
        return QueryPlace(folder, known.id, fresh=True, new=record is None, host=host)

    def move_member(self, query: Path, host: Path) -> None:
        """Write down in which host the query that has a folder is a member."""
        QueryPlace(query, "", fresh=False).save(HOST, {"folder": str(host.relative_to(self.root))})

    def folders_of_members(self, host: Path) -> dict[str, Path]:
        """The folders of the queries that have begun in a host, by their ids."""
        found = {}
        for file in (self.root / QUERIES).glob(f"*/{HOST}.json"):
            record = QueryRecord.load(file.with_name("query.json"))
            known = QueryPlace(file.parent, "", fresh=False).load(HOST)
            if record is not None and self.root / str(known["folder"]) == host:
                found[record.id] = file.parent
        return found

    def host_of(self, name: str) -> Path | None:
        """The folder of the host that a query has begun in; None if it has begun nowhere, or by itself."""
        known = QueryPlace(self.query_folder(name), "", fresh=True).load(HOST)
        folder = self.root / str(known["folder"]) if known else None
        return folder if folder is not None and has_planned(folder) else None

    def has_begun(self, name: str) -> bool:
        """Whether a query has planned a batch, by itself or in a host."""
        return self.has_checkpoint(name) or self.host_of(name) is not None

    def has_checkpoint(self, name: str) -> bool:
        """Whether a query has planned a batch by itself."""
        return has_planned(self.query_folder(name))

    def undo(self, place: QueryPlace) -> None:
        """A query has not started: if it is new, nothing of it stays, and its name is free."""
        if place.new:
            shutil.rmtree(place.folder, ignore_errors=True)

    def forget_query(self, name: str) -> None:
        """Remove what a dropped query had kept: a new one of that name begins anew."""
        self._remove_query(self.query_folder(name))

    def forget_folder(self, kind: str, file: str) -> None:
        """Remove a folder of something that has another one now."""
        if kind == QUERIES:
            self._remove_query(self.root / kind / file)
        shutil.rmtree(self.root / kind / file, ignore_errors=True)

    def _remove_query(self, folder: Path) -> None:
        """Remove what a query has left; its host goes with the last member."""
        try:
            known, record = QueryPlace(folder, "", fresh=True).load(HOST), QueryRecord.load(folder / "query.json")
        except RunError:  # what is damaged goes with the folder; its host, if it had one, does not know
            known, record = {}, None
        if known and record is not None and (host := self.root / str(known["folder"])).exists():
            roster = Roster(host)
            entry = roster.entries.get(record.id)
            if entry is not None and not entry.dropped:
                roster.end(entry.member, roster.next_batch, "dropped", dropped=True)
            if all(entry.dropped for entry in roster.entries.values()):
                shutil.rmtree(host, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)

    def _folder(self, kind: str, name: str) -> Path:
        """The folder of a name: one that an earlier version made goes on, for a checkpoint must not be moved."""
        # The history of a stream is named as its log of pushed rows is.
        if (given := self._given.get((LOGS if kind == STREAMS else kind, name.lower()))) is not None:
            return self.root / kind / given
        folder, earlier = self.root / kind / file_name(name), as_it_is(name)
        if earlier is not None and not folder.exists() and _exists(self.root / kind / earlier):
            return self.root / kind / earlier
        return folder

    def close(self, keep_log: bool = False) -> None:
        """Let go of the folder; a temporary one is removed, but for Spark's log if that is wanted."""
        self._lock.close()
        if keep_log and self._cleaning.detach():
            keep(self.root)
            # The lock, too: a folder with one is removed when its owner is dead.
            for entry in self.root.iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                elif entry != self.spark_log:
                    entry.unlink(missing_ok=True)
        self._cleaning()


def has_planned(folder: Path) -> bool:
    """Whether a query has planned a batch: there is something to go on from."""
    return any((folder / "checkpoint" / "offsets").glob("[0-9]*"))


def _exists(path: Path) -> bool:
    """Whether it is there; what is too long to be the name of a file is not."""
    try:
        return path.exists()
    except OSError:
        return False


def _lock(root: Path) -> IO[str]:
    try:
        make_ours(root)
        check_queries(root / QUERIES)
        check_queries(root / STREAMS)
        if (root / HOSTS).exists():
            check_queries(root / HOSTS)
        for file in (root / name for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm")):
            check_file(file)
        lock = (root / LOCK).open("w")
    except FileExistsError as problem:
        place = problem.filename or root
        raise RunError(f"the checkpoint folder {root} cannot be used: {place} is a file\nhelp: name a folder") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise RunError(f"the checkpoint folder {root} cannot be used: {reason}\nhelp: name another folder") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise RunError(
            f"another process uses the checkpoint folder {root}\nhelp: stop it first, or give another --checkpoint"
        ) from None
    return lock
