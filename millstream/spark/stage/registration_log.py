"""The log of a template's registrations: who was added and removed, and from which micro-batch on that holds.

A file that only grows. It begins with a random id. Each entry is its length, a check sum, and an Arrow stream of one
table, whose metadata say what it is. The driver appends, and an entry is on disk before a batch begins for which it
holds. Tasks read what has come since they looked last, and see the entries up to their batch: a batch that comes again
after a crash meets the same registrations. An entry that a crash has torn is cut off.

An entry is in the file when it has been appended, and outlives the process from then on. The disk is waited for once
for all that comes within a short time, or a thousand statements would wait a thousand times.
"""

from __future__ import annotations

import os
import struct
import threading
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pyarrow as pa

from millstream.errors import RunError
from millstream.operators.match.predicate_index import ID

HEAD = struct.Struct("<II")
"""Before an entry: its length and its check sum."""

ID_BYTES = 16

_KIND, _BATCH = b"kind", b"batch"

SYNC_SECONDS = 0.05
"""No entry waits longer than this until it is written to the disk."""

HANDLE = "__handle"
"""The column of the log with the names of registrations, in the driver alone."""


class Kind(Enum):
    """What an entry says."""

    ADD = "add"
    """Registrations, with their numbers, handles and parameters."""
    REMOVE = "remove"
    """The numbers of registrations that end."""
    GIVEN = "given"
    """Up to which batch a registration's client has been given the answers: its number, and the batch."""
    NEXT = "next"
    """The next number to give, where registrations with greater ones have been forgotten."""


@dataclass(frozen=True)
class Entry:
    """One entry, and the batch from which it holds."""

    kind: Kind
    batch: int
    table: pa.Table

    def to_bytes(self) -> bytes:
        """The entry as the log has it."""
        told = {_KIND: self.kind.value.encode(), _BATCH: str(self.batch).encode()}
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, self.table.schema.with_metadata(told)) as writer:
            writer.write_table(self.table)
        body: bytes = out.getvalue().to_pybytes()
        return HEAD.pack(len(body), zlib.crc32(body)) + body

    @staticmethod
    def from_bytes(body: bytes) -> Entry:
        """The entry that was written."""
        table = pa.ipc.open_stream(pa.BufferReader(body)).read_all()
        told = table.schema.metadata
        return Entry(Kind(told[_KIND].decode()), int(told[_BATCH]), table.replace_schema_metadata())


@dataclass(frozen=True)
class Tail:
    """What has come to a log since a place in it, and the place behind that."""

    id: bytes
    entries: tuple[Entry, ...]
    end: int


def read_log(file: Path, begin: int = 0, known: bytes = b"") -> Tail:
    """What a log holds from a place on; if it is not the log that was `known`, all that it holds."""
    try:
        with file.open("rb") as source:
            id_ = source.read(ID_BYTES)
            start = begin if begin and id_ == known else ID_BYTES
            source.seek(start)
            data = source.read()
    except FileNotFoundError:
        return Tail(b"", (), 0)
    entries, place = [], 0
    for body in _bodies(data):
        entries.append(Entry.from_bytes(body))
        place += HEAD.size + len(body)
    return Tail(id_, tuple(entries), start + place)


def _bodies(data: bytes) -> Iterator[bytes]:
    """The whole entries at the begin of some bytes."""
    place = 0
    while place + HEAD.size <= len(data):
        length, check = HEAD.unpack_from(data, place)
        body = data[place + HEAD.size : place + HEAD.size + length]
        if len(body) < length or zlib.crc32(body) != check:
            return
        yield body
        place += HEAD.size + length


class RegistrationLog:
    """The log as its only writer has it. Not `durable`, it need not outlive this machine."""

    def __init__(self, file: Path, durable: bool = True) -> None:
        self.file = file
        self._durable = durable
        self._lock = threading.RLock()
        self._waiting: threading.Timer | None = None
        self._failure: OSError | None = None
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            self.rewrite(())
        elif file.stat().st_size < ID_BYTES:  # it is never written that way
            raise RunError(f"{file} is damaged\nhelp: bring it back, or remove it to begin without registrations")
        else:
            tail = read_log(file)
            if tail.end < file.stat().st_size:
                _check_torn(file, tail.end)
                os.truncate(file, tail.end)
        self._out = file.open("ab")

    def entries(self) -> tuple[Entry, ...]:
        """All entries."""
        return read_log(self.file).entries

    def append(self, entry: Entry) -> None:
        """Add an entry; when this returns, it is in the file, and soon on disk."""
        with self._lock:
            self._check()
            place = self._out.tell()
            try:
                self._out.write(entry.to_bytes())
                self._out.flush()
            except OSError as problem:
                self._out.close()
                os.truncate(self.file, place)  # half an entry would hide all that come after it
                self._out = self.file.open("ab")
                raise self._told(problem) from problem
            if self._durable and self._waiting is None:
                self._waiting = threading.Timer(SYNC_SECONDS, self._sync_later)
                self._waiting.daemon = True
                self._waiting.start()

    def sync(self) -> None:
        """When this returns, all entries are on disk."""
        with self._lock:
            self._check()
            try:
                self._sync()
            except OSError as problem:
                self._failure = problem
                raise self._told(problem) from problem

    def _sync(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
            os.fsync(self._out.fileno())

    def _sync_later(self) -> None:
        with self._lock:
            try:
                self._sync()
            except OSError as problem:  # whoever comes next is told
                self._failure = problem

    def _check(self) -> None:
        """What the disk has refused once may be lost, whatever it says later."""
        if self._failure is not None:
            raise self._told(self._failure) from self._failure

    def _told(self, problem: OSError) -> RunError:
        return RunError(f"{self.file} cannot be written: {problem.strerror or problem}")

    def rewrite(self, entries: Sequence[Entry]) -> None:
        """Begin anew with these entries: the old log or the new one is there at any moment, never half of one."""
        with self._lock:
            new = self.file.with_suffix(".new")
            with new.open("wb") as out:
                out.write(uuid.uuid4().bytes)
                out.writelines(entry.to_bytes() for entry in entries)
                out.flush()
                if self._durable:
                    os.fsync(out.fileno())
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None
            if hasattr(self, "_out"):
                self._out.close()
            new.replace(self.file)
            if self._durable:
                folder = os.open(self.file.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
            self._out = self.file.open("ab")

    def close(self) -> None:
        """Let go of the file, which is on disk."""
        with self._lock:
            try:
                if self._failure is None:
                    self.sync()
            finally:
                self._out.close()


def _check_torn(file: Path, end: int) -> None:
    """Only the last entry can have been torn by a crash: it reaches to the end of the file, or beyond."""
    with file.open("rb") as source:
        source.seek(end)
        rest = source.read()
    if len(rest) >= HEAD.size and HEAD.size + HEAD.unpack_from(rest)[0] < len(rest):
        raise RunError(
            f"{file} is damaged at byte {end}\nhelp: bring it back, or remove it to begin without registrations"
        )


def numbers_table(numbers: Sequence[int]) -> pa.Table:
    """A table of numbers of registrations."""
    return pa.table({ID: pa.array(numbers, pa.int64())})
