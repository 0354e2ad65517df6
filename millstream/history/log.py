"""The log of a stream: rows by position, landed batch by batch, each batch once.

A position is the number of a row in the stream since its beginning. What is landed never changes its position: files
are sealed when the index first names them, and trimming and compaction change only which files hold what.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from millstream.errors import RunError
from millstream.history.compact import pieces_to_join
from millstream.history.index import Index, Piece, insert, remember
from millstream.history.segments import ENDING, SegmentWriter, read_segment
from millstream.progress.promise_mark import MARK, promise_mark

RAW, REASON, ORIGIN = "__raw", "__reason", "__origin"
"""Beside the columns of a stream: of rows that were rejected their text, why, and where they are from; and marks."""

HIDDEN = (RAW, REASON, ORIGIN, MARK)
_TRIES = 100


class Part(NamedTuple):
    """Rows that a task has written to a file, from those behind `skip` others, and their place in the arrival order."""

    time: int
    path: str
    block: int
    task: int
    number: int
    file: str
    skip: int
    rows: int
    tuples: int
    rejected: int
    bytes: int
    oldest: int | None
    newest: int | None


class Log:
    """The one writer of a log. Files that no index names are left from a crash, and are removed when it opens."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = Index(folder)
        self.index.make()
        self._changing = threading.RLock()
        self._in_flight: int | None = None
        named = {piece.file for piece in self.index.pieces()}
        for file in folder.glob(f"*{ENDING}"):
            if file.name not in named:
                file.unlink()

    def has(self, batch: int) -> bool:
        """Whether a batch has been landed: it comes again after a crash."""
        return batch <= self.index.extent.batch

    @contextmanager
    def landing(self) -> Iterator[int]:
        """While rows are landed: the moment at which they came, which never goes back."""
        with self._changing:
            extent = self.index.extent
            self._in_flight = max(time.time_ns() // 1000, extent.landed or 0, extent.promised or 0)
            moment = self._in_flight
        try:
            yield moment
        finally:
            self._in_flight = None

    def land(self, batch: int, parts: Sequence[Part], moment: int) -> None:
        """Add the rows of a batch that came at a moment, in the order in which they arrived; they are durable."""
        with self._changing, self.index.transaction() as db:
            extent = self.index.extent
            if batch <= extent.batch:
                return
            position, so_far = extent.end, extent.so_far
            for part in _join_parts(sorted(parts, key=lambda part: part[:5])):
                so_far = max((t for t in (so_far, part.newest) if t is not None), default=None)
                counts = part.rows, part.tuples, part.rejected
                where = part.file, part.skip, part.bytes
                insert(db, Piece(position, *counts, *where, part.oldest, part.newest, so_far, moment))
                position += part.rows
            remember(db, end=position, batch=batch, so_far=so_far, landed=moment)

    def promise(self, time_: int, schema: pa.Schema) -> bool:
        """Add a promise about all rows that are still to land; not while some are on their way, nor twice."""
        with self._changing:
            extent = self.index.extent
            if self._in_flight is not None or time_ <= (extent.promised or -(1 << 63)):
                return False
            writer = SegmentWriter(self.folder, schema)
            names = schema.names
            row = [pa.array([promise_mark(time_)]) if f.name == MARK else pa.nulls(1, f.type) for f in schema]
            writer.add(pa.RecordBatch.from_arrays(row, names=names))
            size = writer.seal()
            with self.index.transaction() as db:
                where = writer.name, 0, size
                landed = extent.landed or time.time_ns() // 1000
                insert(db, Piece(extent.end, 1, 0, 0, *where, None, None, extent.so_far, landed))
                remember(db, end=extent.end + 1, promised=time_)
            return True

    def trim(self, before: int) -> None:
        """Let go of the pieces that lie wholly before a position."""
        with self._changing:
            gone = [piece for piece in self.index.pieces(0, before) if piece.end <= before]
            if not gone:
                return
            extent = self.index.extent
            newest = max((t for t in (extent.trimmed_newest, *(p.newest for p in gone)) if t is not None), default=None)
            with self.index.transaction() as db:
                db.execute("DELETE FROM pieces WHERE position < ?", (gone[-1].end,))
                remember(db, begin=gone[-1].end, trimmed_newest=newest)
            self._remove(gone)

    def compact(self) -> bool:
        """Put some small pieces together, if that is worth it; says whether it was."""
        joined = pieces_to_join(self.index.pieces())
        if not joined:
            return False
        first, last = joined[0], joined[-1]
        writer: SegmentWriter | None = None
        for batch in read(self.folder, first.position, last.end):
            writer = writer or SegmentWriter(self.folder, batch.schema)
            writer.add(batch)
        assert writer is not None  # noqa: S101  (pieces have rows)
        size = writer.seal()
        piece = Piece(
            first.position,
            writer.rows,
            sum(piece.tuples for piece in joined),
            sum(piece.rejected for piece in joined),
            writer.name,
            0,
            size,
            min((piece.oldest for piece in joined if piece.oldest is not None), default=None),
            max((piece.newest for piece in joined if piece.newest is not None), default=None),
            last.so_far,
            max(piece.landed for piece in joined),
        )
        with self._changing:
            if self.index.pieces(first.position, last.end) != joined:
                (self.folder / writer.name).unlink()  # some of them have been trimmed meanwhile
                return False
            with self.index.transaction() as db:
                db.execute("DELETE FROM pieces WHERE position >= ? AND position < ?", (first.position, last.end))
                insert(db, piece)
            self._remove(joined)
        return True

    def _remove(self, pieces: Sequence[Piece]) -> None:
        """Remove the files of pieces that are gone, unless others are in them."""
        used = {piece.file for piece in self.index.pieces()}
        for name in {piece.file for piece in pieces} - used:
            (self.folder / name).unlink(missing_ok=True)


def read(folder: Path | str, start: int, stop: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows from one position to before another; what is compacted meanwhile is found in its new file."""
    place, tries = start, 0
    while place < stop:
        piece = _piece_at(Path(folder), place)
        try:
            first = place - piece.position
            rows = min(stop, piece.end) - place
            for batch in read_segment(Path(folder) / piece.file, piece.skip + first, rows, columns):
                yield batch
                place += batch.num_rows
            tries = 0
        except FileNotFoundError:
            tries += 1
            if tries > _TRIES:
                raise RunError(
                    f"the history in {folder} is damaged: {piece.file} is missing\n"
                    "help: bring the file back; or drop the stream, and its history begins anew"
                ) from None
        if place < min(stop, piece.end) and not tries:
            raise RunError(f"the history in {folder} is damaged: {piece.file} is too short")


def _piece_at(folder: Path, position: int) -> Piece:
    found = Index(folder).pieces(position, position + 1)
    if not found:
        begin = Index(folder).extent.begin
        raise RunError(
            f"the history in {folder} no longer holds position {position}, its first is {begin}\n"
            "help: start the query under another name to read what is left"
        )
    return found[0]


def _join_parts(parts: Sequence[Part]) -> Iterator[Part]:
    """Parts that stand one behind the other in a file, as one."""
    last: Part | None = None
    for part in parts:
        if last is not None and last.file == part.file and last.skip + last.rows == part.skip:
            times = [t for t in (last.oldest, part.oldest, last.newest, part.newest) if t is not None]
            last = last._replace(
                rows=last.rows + part.rows,
                tuples=last.tuples + part.tuples,
                rejected=last.rejected + part.rejected,
                bytes=last.bytes + part.bytes,
                oldest=min(times, default=None),
                newest=max(times, default=None),
            )
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last
