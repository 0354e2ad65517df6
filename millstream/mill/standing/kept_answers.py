"""The answers of a template that are kept, batch by batch, in files that outlive the process."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from millstream.errors import RunError

NUMBER = "registration"
"""The column with the number of the registration that a row is for."""

NONE = -1
"""Before the first batch."""


class AnswerRows(NamedTuple):
    """Answers of a registration: the rows, the newest batch that was looked at, and whether older ones are gone."""

    rows: pa.Table
    newest: int
    lost: bool


class AnswersOf(Protocol):
    """The answers that a query has given, by registration and micro-batch."""

    def add(self, batch: int, table: pa.Table) -> None:
        """Keep the answers of a batch; one that comes again takes the place of what it was."""
        ...

    def of(self, number: int, after: int = NONE) -> AnswerRows:
        """The answers of a registration that came with later batches."""
        ...

    def wait(self, after: int, timeout: float | None) -> bool:
        """Wait for answers of a later batch; False if none came in time, or if there will be none."""
        ...

    def close(self) -> None:
        """Say that no more answers will come."""
        ...


class KeptAnswers:
    """A file for each batch that has answers, at most so many rows; of what is dropped the last batch is noted."""

    def __init__(self, folder: Path, schema: pa.Schema, kept: int, durable: bool = True) -> None:
        self._folder, self._schema, self._kept, self._durable = folder, schema, kept, durable
        folder.mkdir(parents=True, exist_ok=True)
        self._changed = threading.Condition()
        self._closed = False
        self._tables: dict[int, pa.Table] = {}
        others = NONE
        for file in sorted(folder.glob("*.arrow")):
            try:
                with pa.ipc.open_file(pa.memory_map(str(file))) as source:
                    table = source.read_all()
            except (pa.ArrowException, OSError) as problem:
                raise RunError(f"{file} is damaged: {problem}\nhelp: bring it back, or remove it") from None
            if table.schema.equals(schema):
                self._tables[int(file.stem)] = table
            else:  # they are of another SELECT, and nobody's any more
                others = max(others, int(file.stem))
        self._rows = sum(table.num_rows for table in self._tables.values())
        note = folder / "dropped"
        self._dropped = max(others, int(note.read_text()) if note.exists() else NONE)

    def add(self, batch: int, table: pa.Table) -> None:
        """Keep the answers of a batch; one that comes again takes the place of what it was."""
        table = table.cast(self._schema)
        self._write(f"{batch:019d}.arrow", table)
        with self._changed:
            before = self._tables.pop(batch, None)
            self._tables[batch] = table
            self._rows += table.num_rows - (before.num_rows if before is not None else 0)
            self._trim()
            self._changed.notify_all()

    def of(self, number: int, after: int = NONE) -> AnswerRows:
        """The answers of a registration that came with later batches."""
        with self._changed:
            tables = [table for batch, table in self._tables.items() if batch > after]
            newest, lost = max([after, *self._tables]), self._dropped > after
        whole = pa.concat_tables([self._schema.empty_table(), *tables])
        return AnswerRows(whole.filter(pc.equal(whole[NUMBER], number)), newest, lost)

    def wait(self, after: int, timeout: float | None) -> bool:
        """Wait for answers of a later batch; False if none came in time, or if there will be none."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not any(batch > after for batch in self._tables):
                left = None if end is None else end - time.monotonic()
                if self._closed or (left is not None and left <= 0):
                    return False
                self._changed.wait(left)
        return True

    def close(self) -> None:
        """Say that no more answers will come."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _trim(self) -> None:
        while self._rows > self._kept and len(self._tables) > 1:
            oldest = min(self._tables)
            self._dropped = max(self._dropped, oldest)
            new = self._folder / "dropped.new"
            new.write_text(str(self._dropped))
            new.replace(self._folder / "dropped")
            self._rows -= self._tables.pop(oldest).num_rows
            (self._folder / f"{oldest:019d}.arrow").unlink(missing_ok=True)

    def _write(self, name: str, table: pa.Table) -> None:
        """The old file or the new one is there at any moment, never half of one."""
        new = self._folder / f"{name}.new"
        with new.open("wb") as out:
            with pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)
            out.flush()
            if self._durable:
                os.fsync(out.fileno())
        new.replace(self._folder / name)
