"""The log of a query's answers: its batches in files of its folder, each once, the newest of them kept."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from millstream.errors import RunError
from millstream.store.batch_files import Batch, BatchFile, list_batch_files, merged_tail, read_file, remove, write_file
from millstream.store.carry_log import TRIMMED, begin_of, clear_log, id_of
from millstream.store.on_disk import put_in_place
from millstream.store.position import Position


class BatchLog:
    """Batches of rows in the order they came, at most so many rows; what is dropped is counted.

    A batch is in its file before anyone sees it. One that comes again after a crash is known by its number: the rows
    that were there first stay, for someone may have read them. `fresh`: what is in the folder is of no use any more.
    Batches behind the one that is `held` are let go of only once `hold` has been told of a later one.
    """

    def __init__(
        self, schema: pa.Schema, kept: int, folder: Path, fresh: bool = False, held: int | None = None
    ) -> None:
        self.schema = schema.remove_metadata()
        self._kept = kept
        self.folder = folder
        self._changed = threading.Condition()
        self._batches: deque[Batch] = deque()
        self._files: deque[BatchFile] = deque()
        self._rows = 0
        self._closed = False
        self._trimmed = Position(-1, -1)
        self._held = held
        self.dropped = 0
        if fresh:
            clear_log(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.begin = begin_of(folder)
        self.id = id_of(folder)
        self._load()

    @property
    def closed(self) -> bool:
        """Whether no more rows will come."""
        return self._closed

    @property
    def arriving_schema(self) -> pa.Schema:
        """The columns of the rows that are put in."""
        return self.schema

    # -- writing -------------------------------------------------------------------------------------------

    def add(self, rows: pa.Table, batch: int) -> bool:
        """Keep a batch, and let go of the oldest if there are now too many rows; False if it is there already."""
        batch += self.begin
        if not rows.num_rows or batch <= self.last:
            return False
        rows = rows.replace_schema_metadata(None)
        if not have_same_columns(rows.schema, self.schema):
            raise RunError(f"batch {batch} has the columns {rows.schema}, and the log has {self.schema}")
        one = Batch(batch, rows)
        file = write_file(self.folder, [one])
        with self._changed:
            self._files.append(file)
            self._batches.append(one)
            self._rows += rows.num_rows
            self._trim()
            self._merge()
            self._changed.notify_all()
        return True

    def hold(self, behind: int) -> None:
        """From now on, let go of no batch behind this one, however many rows there are."""
        with self._changed:
            self._held = behind
            self._trim()

    def close(self) -> None:
        """Say that no more rows will come."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the newest batch, -1 if there has been none."""
        return self._batches[-1].number if self._batches else self._trimmed.batch

    @property
    def end(self) -> Position:
        """The position of the newest row."""
        with self._changed:
            return self._end()._replace(log=self.id)

    def subscribe(self, after: Position | None = None, timeout: float | None = None) -> Subscription:
        """The batches that are kept, or those behind a position, and then those that come."""
        return Subscription(self, after, timeout)

    def table(self) -> pa.Table:
        """All rows that are kept."""
        with self._changed:
            tables = [batch.rows for batch in self._batches]
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def since(self, after: Position) -> list[Batch]:
        """The batches with rows behind a position, from its own on; trimmed ones are told of, not skipped."""
        with self._changed:
            return self._since(after)

    def wait(self, after: Position | None, timeout: float | None) -> tuple[list[Batch], bool]:
        """What has come behind a position, as soon as there is any; and whether more can come.

        Nothing comes if there is none for `timeout` seconds. Without a position, all that is kept counts.
        """
        with self._changed:
            place = self._trimmed if after is None else after.place
            self._changed.wait_for(lambda: self._closed or self._end() > place, timeout)
            return self._since(place), not self._closed

    def check(self, after: Position) -> None:
        """Refuse a position of another log, one that no row has, and one behind which rows have been dropped."""
        with self._changed:
            if after.log != self.id:
                raise RunError(
                    f"position {after} is of another query, or of an earlier one of that name: here they end in "
                    f"{self.id}\nhelp: begin anew with what is kept; SUBSCRIBE shows each row with its position"
                )
            if after.place > self._end():
                reached = f"it has come to {self.end}" if self._end().batch >= 0 else "it has no rows yet"
                raise RunError(f"there is no row at position {after}: {reached}\nhelp: begin anew with what is kept")
            self._since(after.place)

    def _end(self) -> Position:
        if not self._batches:
            return self._trimmed
        return Position(self._batches[-1].number, self._batches[-1].rows.num_rows - 1)

    def _since(self, after: Position) -> list[Batch]:
        if after < self._trimmed:
            raise RunError(
                f"rows behind position {after._replace(log=self.id)} have been dropped, up to "
                f"{self._trimmed._replace(log=self.id)}\n"
                "help: begin anew with what is kept; SET results_kept to more rows for queries that start from then on"
            )
        # From the newest back: a subscriber is seldom far behind.
        found: list[Batch] = []
        for batch in reversed(self._batches):
            if batch.number < after.batch or (batch.number == after.batch and batch.rows.num_rows - 1 <= after.row):
                break
            found.append(batch)
        return found[::-1]

    # -- files ---------------------------------------------------------------------------------------------

    def _load(self) -> None:
        record = self.folder / TRIMMED
        if record.exists():
            said = json.loads(record.read_text())
            self._trimmed, self.dropped = Position(said["batch"], said["row"]), said["dropped"]
        for path, first, last in list_batch_files(self.folder):
            batches = list(read_file(path))
            if any(not have_same_columns(batch.rows.schema, self.schema) for batch in batches):
                # The query was edited: rows of other columns cannot stand beside the new ones.
                self._drop(batches)
                self._note()
                remove([path])
                continue
            self._files.append(BatchFile(path, first, last, len(batches)))
            for batch in batches:
                if batch.number > self.last:  # else it is in a merged file, too
                    self._batches.append(batch)
                    self._rows += batch.rows.num_rows
        self._trim()

    def _drop(self, batches: list[Batch]) -> None:
        for batch in batches:
            if batch.number > self._trimmed.batch:
                self._trimmed = Position(batch.number, batch.rows.num_rows - 1)
                self.dropped += batch.rows.num_rows

    def _trim(self) -> None:
        """Let go of the oldest batches; a file goes when all that is in it has gone, and first it is noted."""
        while self._rows > self._kept and len(self._batches) > 1:
            if self._held is not None and self._batches[0].number > self._held:
                break
            old = self._batches.popleft()
            self._rows -= old.rows.num_rows
            self._drop([old])
        gone = [file for file in self._files if file.last <= self._trimmed.batch]
        if gone:
            self._note()
            remove(file.path for file in gone)
            for _ in gone:
                self._files.popleft()

    def _note(self) -> None:
        new = self.folder / f".{TRIMMED}.new"
        new.write_text(json.dumps({"batch": self._trimmed.batch, "row": self._trimmed.row, "dropped": self.dropped}))
        put_in_place(new, self.folder / TRIMMED)  # before the files go that it speaks of

    def _merge(self) -> None:
        """Make one file of many small ones, or a folder would have one for each batch that there ever was."""
        while count := merged_tail(list(self._files)):
            old = [self._files.pop() for _ in range(count)][::-1]
            batches = [batch for batch in self._batches if old[0].first <= batch.number <= old[-1].last]
            self._files.append(write_file(self.folder, batches))
            remove(file.path for file in old if file.path != self._files[-1].path)


def have_same_columns(one: pa.Schema, other: pa.Schema) -> bool:
    """Whether two schemas have columns of the same names and types, whatever may be NULL."""
    return one.names == other.names and [f.type for f in one] == [f.type for f in other]


POSITION = "position"


class Subscription(Iterator[pa.Table]):
    """The batches behind a position as they come; `position` is that of the last row that was given.

    `ended`: no more will come, for the query has ended.
    """

    def __init__(self, log: BatchLog, after: Position | None = None, timeout: float | None = None) -> None:
        if after is not None:
            log.check(after)
        self._log = log
        self._timeout = timeout
        self._ready: deque[Batch] = deque()
        self.position = after
        self.ended = False

    def __next__(self) -> pa.Table:
        """The rows of a batch, waiting for them; the end when the query has ended, or after an idle time."""
        while True:
            rows = self.take(self._timeout)
            if rows is not None:
                return rows
            if self.ended or self._timeout is not None:
                raise StopIteration

    def take(self, timeout: float | None) -> pa.Table | None:
        """The rows of the next batch, None if there are none in so many seconds."""
        if not self._ready:
            found, goes_on = self._log.wait(self.position, timeout)
            self.ended = not found and not goes_on
            self._ready.extend(found)
        if not self._ready:
            return None
        batch = self._ready.popleft()
        seen = self.position.row + 1 if self.position is not None and self.position.batch == batch.number else 0
        self.position = Position(batch.number, batch.rows.num_rows - 1, self._log.id)
        return batch.rows.slice(seen)

    def add_positions(self, rows: pa.Table) -> pa.Table:
        """The rows that were given last, each with its position."""
        batch, last, log = self.position or Position(-1, -1)
        places = pa.array(range(last - rows.num_rows + 1, last + 1), pa.int64()).cast(pa.string())
        return rows.add_column(0, POSITION, pc.binary_join_element_wise(str(batch), places, log, "."))
