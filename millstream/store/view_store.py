"""The answers of a view: the newest row of each key in memory; on disk a snapshot, and the changes since."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from millstream.errors import RunError
from millstream.store.batch_files import Batch, list_batch_files, read_file, remove, write_file
from millstream.store.batch_log import POSITION, BatchLog, Subscription
from millstream.store.newest import INSERT, OP, Newest
from millstream.store.position import Position

FEW = 10_000
"""A snapshot is written when there are more changes than this since the last one, and than there are keys."""

RECORD, SCHEMA = "view.json", "schema.arrow"


@dataclass(frozen=True)
class ViewColumns:
    """The columns of a view: those that it shows, its keys, and the one that says which row is newer, if any does.

    What is not shown is only kept to compare rows by.
    """

    shown: tuple[str, ...]
    keys: tuple[str, ...]
    time: str | None


class ViewStore:
    """A row for each key, as of one batch; batches are put in whole, and one that comes again counts once."""

    def __init__(self, schema: pa.Schema, columns: ViewColumns, kept: int, folder: Path, fresh: bool = False) -> None:
        self.schema = pa.schema([field for field in schema if field.name in columns.shown])
        self.arriving_schema = schema
        self.folder = folder
        self._columns = columns
        self._lock = threading.RLock()
        self._snapshots = folder / "snapshots"
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        self._snapshots.mkdir(parents=True, exist_ok=True)
        self._check(folder / RECORD, schema)
        changes = pa.schema([pa.field(OP, pa.string()), *schema]).remove_metadata()
        held = max((first for _, first, _ in list_batch_files(self._snapshots)), default=-1)
        self._log = BatchLog(changes, kept, folder / "changes", held=held)
        self._newest = Newest(schema.remove_metadata(), columns.keys, columns.time)
        self._since = 0
        self._load(held)

    # -- writing -------------------------------------------------------------------------------------------

    def add(self, rows: pa.Table, batch: int) -> bool:
        """Put a batch in; False if nothing has changed, because it was there before or no row of it is newer."""
        with self._lock:
            if not rows.num_rows or batch <= self._log.last:
                return False
            changes = self._newest.put(rows.replace_schema_metadata(None))
            added = self._log.add(changes, batch)
            self._since += changes.num_rows
            if self._since > max(FEW, len(self._newest)):
                self._take_snapshot()
            return added

    def close(self) -> None:
        """Say that no more rows will come."""
        self._log.close()

    @property
    def closed(self) -> bool:
        """Whether no more rows will come."""
        return self._log.closed

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def dropped(self) -> int:
        """How many changes are not kept any more; no row of the view is ever dropped."""
        return self._log.dropped

    @property
    def batch(self) -> int:
        """The batch that the view is now as of, -1 if there has been none."""
        return self._log.last

    def table(self) -> pa.Table:
        """The newest row of each key, all as of one batch."""
        return self.snapshot()[1]

    def snapshot(self) -> tuple[int, pa.Table]:
        """The same, with the number of the batch."""
        with self._lock:
            return self._log.last, self._newest.table().select(self.schema.names)

    def subscribe(self, after: Position | None = None, timeout: float | None = None) -> ViewSubscription:
        """What happens to keys, batch by batch: first all that are there, unless it goes on from a position."""
        return ViewSubscription(self, after, timeout)

    def begin(self, after: Position | None, timeout: float | None) -> tuple[pa.Table | None, Subscription]:
        """What is there, if a subscription does not go on from a position, and the changes behind that."""
        with self._lock:
            if after is not None:
                return None, self._log.subscribe(after, timeout)
            table = self.table()
            whole = table.add_column(0, OP, pa.repeat(INSERT, table.num_rows)) if table.num_rows else None
            return whole, self._log.subscribe(self._log.end, timeout)

    def drop_hidden_columns(self, changes: pa.Table) -> pa.Table:
        """Changes without what is only kept to compare rows by."""
        return changes.select([OP, *self.schema.names])

    # -- files ---------------------------------------------------------------------------------------------

    def _check(self, record: Path, schema: pa.Schema) -> None:
        """Rows that are kept must have the columns that come, or keys that do not come again would have others."""
        now = {"columns": {f.name: str(f.type) for f in schema}, "keys": list(self._columns.keys)}
        if record.exists() and (before := json.loads(record.read_text())) != now:
            raise RunError(
                f"the view was kept with {_spell(before)}, and now it would have {_spell(now)}: what it holds does not "
                f"fit\nhelp: keep what it was; or drop the view, or remove {record.parent.parent}, to begin anew"
            )
        arriving = schema.serialize().to_pybytes()
        for file, content in ((record, json.dumps(now).encode()), (self.folder / SCHEMA, arriving)):
            new = file.with_suffix(".new")
            new.write_bytes(content)
            new.rename(file)

    def _load(self, held: int) -> None:
        for path, _, _ in list_batch_files(self._snapshots)[-1:]:
            for part in read_file(path):
                self._newest.put(part.rows)
        for batch in self._log.since(Position(held, _WHOLE)) if self._log.last > held else []:
            self._newest.put(batch.rows.drop_columns([OP]))
            self._since += batch.rows.num_rows

    def _take_snapshot(self) -> None:
        """Write down all rows, so that older changes need not be kept."""
        old = [path for path, _, _ in list_batch_files(self._snapshots)]
        made = write_file(self._snapshots, [Batch(self._log.last, self._newest.table())])
        remove(path for path in old if path != made.path)
        self._since = 0
        self._log.hold(made.first)


_WHOLE = 2**62
"""Behind all rows of a batch."""


def schema_in(folder: Path) -> pa.Schema | None:
    """The columns that come into a view in a folder; None if it was never opened there."""
    file = folder / SCHEMA
    if not file.exists():
        return None
    try:
        return pa.ipc.read_schema(pa.py_buffer(file.read_bytes()))
    except pa.ArrowException as problem:
        raise RunError(f"{file} is damaged: {problem}\nhelp: bring it back, or START QUERY writes it anew") from None


def reopened(schema: pa.Schema, columns: ViewColumns, folder: Path) -> ViewStore:
    """A view whose query does not run, to be read: it has what is on disk, lets go of nothing, and nothing comes."""
    view = ViewStore(schema, columns, sys.maxsize, folder)
    view.close()
    return view


class ViewSubscription(Iterator[pa.Table]):
    """What happens to the keys of a view as it does; `position` is that of the last change that was given."""

    def __init__(self, view: ViewStore, after: Position | None = None, timeout: float | None = None) -> None:
        self._view = view
        self._timeout = timeout
        self._whole, self._changes = view.begin(after, timeout)
        self._gave_whole = False
        self.position = after

    @property
    def ended(self) -> bool:
        """Whether no more will come, for the query has ended."""
        return self._changes.ended

    def __next__(self) -> pa.Table:
        """The changes of a batch, waiting for them; the end when the query has ended, or after an idle time."""
        while True:
            rows = self.take(self._timeout)
            if rows is not None:
                return rows
            if self.ended or self._timeout is not None:
                raise StopIteration

    def take(self, timeout: float | None) -> pa.Table | None:
        """The changes of the next batch, None if there are none in so many seconds."""
        rows, self._whole = self._whole, None
        self._gave_whole = rows is not None
        if rows is None and (changes := self._changes.take(timeout)) is not None:
            rows = self._view.drop_hidden_columns(changes)
        if rows is not None:
            self.position = self._changes.position
        return rows

    def add_positions(self, rows: pa.Table) -> pa.Table:
        """The rows that were given last, each with its position; all that was there has one, to go on behind it."""
        if self._gave_whole:
            return rows.add_column(0, POSITION, pa.repeat(str(self.position), rows.num_rows))
        return self._changes.add_positions(rows)


def _spell(record: Mapping[str, Any]) -> str:
    columns = ", ".join(f"{name} {type_}" for name, type_ in record["columns"].items())
    return f"columns {columns} and the key {', '.join(record['keys'])}"
