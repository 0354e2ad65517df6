"""The roster of a host: which members there are, each from a batch on and perhaps until another one.

What a closure holds is settled when a Spark query starts. So the members of a host lie in files, and a task looks up
those of the batch that it works for. A batch that comes again after a crash finds the same ones: an entry is on disk
before any batch that it is for has been planned.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

from millstream.errors import RunError
from millstream.spark.hosts.member import BatchMembers, Member, SharedState

ROSTER = "roster.json"
MEMBERS, STATES = "members", "states"


@dataclass(frozen=True)
class Entry:
    """A member: its id, its state, and the batches `since <= batch < until` that are for it.

    `counts`: its rows do. An entry that a batch may have seen only in part does not. `dropped`, it will not come back.
    """

    member: str
    name: str
    state: str | None
    since: int
    until: int | None = None
    counts: bool = True
    dropped: bool = False
    why: str = ""

    def holds(self, batch: int) -> bool:
        """Whether a batch is for it."""
        return self.since <= batch and (self.until is None or batch < self.until)


class Roster:
    """The driver's side: it writes the roster, and the files of members."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for place in (MEMBERS, STATES):
            (folder / place).mkdir(parents=True, exist_ok=True)
        self.entries: dict[str, Entry] = {entry.member: entry for entry in _entries(folder)}
        self._gathers = False

    @property
    def next_batch(self) -> int:
        """The first batch that is not planned yet."""
        planned = [int(f.name) for f in (self.folder / "checkpoint" / "offsets").glob("[0-9]*") if f.name.isdigit()]
        return max(planned, default=-1) + 1

    @property
    def first_batch(self) -> int:
        """The first batch that is not complete: one that was planned may have to be done again."""
        done = [int(f.name) for f in (self.folder / "checkpoint" / "commits").glob("[0-9]*") if f.name.isdigit()]
        return max(done, default=-1) + 1

    def add(self, member: Member, state: SharedState | None, since: int) -> bool:
        """Let batches from one on be for a member; False if that one has been planned meanwhile."""
        if self.next_batch > since:
            return False
        self.describe(member, state)
        self._put(Entry(member.id, member.name, member.state, since, counts=False))
        # Who looks now finds the entry: if the batch is still not planned, all of its tasks will have found it.
        if self.next_batch > since:
            self._put(replace(self.entries[member.id], until=since, why="it came too late"))
            return False
        self._put(replace(self.entries[member.id], counts=True))
        return True

    def describe(self, member: Member, state: SharedState | None) -> None:
        """Write down what a member does."""
        if state is not None:
            self._describe(STATES, state.id, state)
        self._describe(MEMBERS, member.id, member)

    def _describe(self, kind: str, id_: str, what: Member | SharedState) -> None:
        content = cloudpickle.dumps(what)  # type: ignore[no-untyped-call]
        _write(self.folder / kind / id_, content, named=not self._gathers)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """What is done here is written once, behind it. No batch may be planned meanwhile."""
        self._gathers = True
        try:
            yield
        finally:
            self._gathers = False
            for place in (MEMBERS, STATES):
                _sync_folder(self.folder / place)
            self._write_entries()

    def end(self, member: str, until: int, why: str, dropped: bool = False) -> None:
        """No batch from that one on is for a member."""
        entry = self.entries[member]
        until = until if entry.until is None else min(until, entry.until)
        self._put(replace(entry, until=until, why=why or entry.why, dropped=dropped or entry.dropped))

    def back(self, member: str, name: str = "") -> None:
        """A member that has missed no batch goes on, perhaps under another name."""
        entry = self.entries[member]
        self._put(replace(entry, name=name or entry.name, until=None, why=""))

    def _put(self, entry: Entry) -> None:
        self.entries[entry.member] = entry
        if not self._gathers:
            self._write_entries()

    def _write_entries(self) -> None:
        listed = [asdict(one) for one in self.entries.values()]
        _write(self.folder / ROSTER, json.dumps(listed, indent=1).encode())


def is_committed(folder: Path, batch: int) -> bool:
    """Whether a batch of a host is complete."""
    return (folder / "checkpoint" / "commits" / str(batch)).exists()


def read_batch_members(folder: Path, batch: int) -> BatchMembers:
    """The members that a batch is for."""
    known = _KNOWN.get(folder)
    try:
        stamp = (folder / ROSTER).stat().st_mtime_ns
    except FileNotFoundError:
        return BatchMembers()
    if known is None or known.stamp != stamp:
        known = _KNOWN[folder] = _Known(stamp, tuple(_entries(folder)), {}, known.loaded if known else {})
    found = known.crews.get(batch)
    if found is None:
        known.crews.clear()
        found = known.crews[batch] = _crew(folder, known, batch)
    return found


@dataclass
class _Known:
    """What this process has read of a roster."""

    stamp: int
    entries: tuple[Entry, ...]
    crews: dict[int, BatchMembers]
    loaded: dict[tuple[str, int], Any]


_KNOWN: dict[Path, _Known] = {}


def _crew(folder: Path, known: _Known, batch: int) -> BatchMembers:
    here = [entry for entry in known.entries if entry.holds(batch)]
    states = {entry.state for entry in here if entry.state is not None}
    gone = {e.state for e in known.entries if e.dropped} - {e.state for e in known.entries if not _is_gone(e, batch)}
    members = tuple(_load(folder / MEMBERS / entry.member, known) for entry in here)
    shared = tuple(_load(folder / STATES / state, known) for state in sorted(states))
    return BatchMembers(members, shared, frozenset(state for state in gone if state is not None))


def _is_gone(entry: Entry, batch: int) -> bool:
    return entry.dropped and entry.until is not None and entry.until <= batch


def _load(file: Path, known: _Known) -> Any:
    place = (str(file), file.stat().st_mtime_ns)
    if place not in known.loaded:
        known.loaded[place] = cloudpickle.loads(file.read_bytes())
    return known.loaded[place]


def _entries(folder: Path) -> Iterable[Entry]:
    try:
        return [Entry(**one) for one in json.loads((folder / ROSTER).read_text())]
    except FileNotFoundError:
        return []
    except (TypeError, ValueError):
        raise RunError(
            f"{folder / ROSTER} is damaged\nhelp: bring it back, or DROP the queries of this host and begin anew"
        ) from None


def _write(file: Path, content: bytes, named: bool = True) -> None:
    """Write a file so that the old one or the new one is there at any moment, on disk before anything that follows.

    Not `named`, its name comes to the disk when its folder does.
    """
    new = file.with_name(f".{file.name}.new")
    with new.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    new.replace(file)
    if named:
        _sync_folder(file.parent)


def _sync_folder(place: Path) -> None:
    folder = os.open(place, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
