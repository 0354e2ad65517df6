"""The landing log: lines on disk in an append-only log, durable before any reader can see them."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from millstream.connectors.places.paths import leads_to
from millstream.errors import RunError

SEGMENT_BYTES = 64 << 20
CHUNK_BYTES = 4 << 20

# The system call that leaves out the times of the file is missing on some systems.
_flush = getattr(os, "fdatasync", os.fsync)


class LogWriter:
    """The only writer of a log; opening one cuts off whatever a crash left behind that was never synced.

    A log is a directory of segments, each named by the position of its first byte in the whole log, and a
    file `end` with the position up to which everything is durable. The order of `sync` is: segment, then
    `end`. So readers see durable bytes only, and bytes after `end` were never promised to anybody.
    """

    def __init__(self, directory: Path | str, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._directory = Path(directory)
        self._segment_bytes = segment_bytes
        self._directory.mkdir(parents=True, exist_ok=True)
        self._files = [_lock(self._directory)]
        try:
            self._end_file = os.open(self._directory / "end", os.O_RDWR | os.O_CREAT, 0o644)
            self._files.append(self._end_file)
            self._segment_start, self._position = _recover(self._directory)
            self._segment = self._open_segment()
            self._publish()
            _flush_directory(self._directory.parent)
        except BaseException:
            self.close()
            raise

    @property
    def position(self) -> int:
        """The position after the last byte appended, durable or not."""
        return self._position

    def append(self, lines: bytes) -> None:
        """Add whole lines, each with its newline; nobody sees them before the next `sync`."""
        if not lines.endswith(b"\n"):
            raise ValueError("only whole lines can be appended")
        self._check_open()
        try:
            if self._position - self._segment_start >= self._segment_bytes:
                self._roll()
            left = memoryview(lines)
            while left:
                written = os.write(self._segment, left)
                self._position += written
                left = left[written:]
        except OSError:
            self.close()
            raise

    def sync(self) -> int:
        """Make all that was appended durable, then visible; returns the new visible end."""
        self._check_open()
        try:
            _flush(self._segment)
            self._publish()
            self._check_place()
        except (OSError, RunError):
            # A second flush after a failed one may report success although the bytes are gone.
            self.close()
            raise
        return self._position

    def close(self) -> None:
        """Let go of the log, without a sync."""
        while self._files:
            os.close(self._files.pop())

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._files:
            raise RunError(f"the log '{self._directory}' is closed: open it again to write to it")

    def _check_place(self) -> None:
        """The files must still be the ones that readers open: bytes in a file that was removed are lost."""
        for file, path in (
            (self._segment, _segment_path(self._directory, self._segment_start)),
            (self._end_file, self._directory / "end"),
        ):
            if not leads_to(path, file):
                raise OSError(errno.ENOENT, "a file of the log was removed or replaced while it was written", str(path))
        held = os.fstat(self._segment).st_size
        if held != self._position - self._segment_start:
            raise _damage_error(self._directory, self._segment_start + held, self._position)

    def _roll(self) -> None:
        _flush(self._segment)
        self._files.remove(self._segment)
        os.close(self._segment)
        self._segment_start = self._position
        self._segment = self._open_segment()

    def _open_segment(self) -> int:
        path = _segment_path(self._directory, self._segment_start)
        segment = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._files.append(segment)
        _flush_directory(self._directory)
        return segment

    def _publish(self) -> None:
        os.pwrite(self._end_file, _seal_position(self._position), 0)
        _flush(self._end_file)


def begin(directory: Path | str) -> int:
    """The position of the first byte that the log still holds."""
    return min(_segments(Path(directory)), default=0)


def end(directory: Path | str) -> int:
    """The position up to which the log is durable and may be read; 0 if nobody has opened it yet."""
    return _read_end(Path(directory)) or 0


def read(directory: Path | str, start: int, stop: int, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """The bytes between two positions, in chunks of about that size which end at line ends."""
    open_line = b""
    for block in _blocks(Path(directory), start, stop, chunk_bytes):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield open_line + block[:cut]
            open_line = block[cut:]
        else:
            open_line += block
    if open_line:
        yield open_line


def line_end(directory: Path | str, position: int) -> int:
    """The first line end at or after a position, within what can be read."""
    first, limit = begin(directory), end(directory)
    if not first < position < limit:
        return max(first, min(position, limit))
    at = position - 1
    for block in _blocks(Path(directory), at, limit, 64 << 10):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
    return limit


def trim(directory: Path | str, before: int) -> int:
    """Remove the segments that lie wholly before a position; returns the first position left."""
    starts = _segments(Path(directory))
    for start, following in itertools.pairwise(starts):
        if following > before:
            return start
        _segment_path(Path(directory), start).unlink()
    return starts[-1] if starts else 0


def _blocks(directory: Path, start: int, stop: int, size: int) -> Iterator[bytes]:
    if start >= stop:
        return
    starts = _segments(directory)
    first = min(starts, default=stop)
    if start < first:
        raise RunError(
            f"the log '{directory}' no longer holds position {start}, its first is {first}: "
            "start the query with a new checkpoint to read what is left"
        )
    for segment, following in zip(starts, [*starts[1:], stop], strict=True):
        last = min(stop, following)
        if start >= last:
            continue
        with _segment_path(directory, segment).open("rb", buffering=0) as file:
            file.seek(start - segment)
            while start < last:
                block = file.read(min(size, last - start))
                if not block:
                    raise _damage_error(directory, start, stop)
                start += len(block)
                yield block


def _recover(directory: Path) -> tuple[int, int]:
    """Cut the log back to its end; returns where the last segment begins and where the log ends."""
    starts = _segments(directory) or [0]
    limit = _read_end(directory)
    if limit is None:
        limit = _last_line_end(directory, starts)
    while starts[-1] > limit and len(starts) > 1:
        # The newest goes first: if this is interrupted, what is left is still without a gap.
        _segment_path(directory, starts.pop()).unlink()
    path = _segment_path(directory, starts[-1])
    held = starts[-1] + (path.stat().st_size if path.exists() else 0)
    if not starts[-1] <= limit <= held:
        raise _damage_error(directory, held, limit)
    if held > limit:
        os.truncate(path, limit - starts[-1])
    return starts[-1], limit


def _last_line_end(directory: Path, starts: list[int]) -> int:
    """Where the last whole line on disk ends: the best that is known when `end` cannot be read."""
    for start in reversed(starts):
        path = _segment_path(directory, start)
        cut = path.read_bytes().rfind(b"\n") + 1 if path.exists() else 0
        if cut:
            return start + cut
    return starts[0]


def _read_end(directory: Path) -> int | None:
    for _ in range(100):
        try:
            text = (directory / "end").read_bytes()
        except FileNotFoundError:
            return None
        if text[:20].isdigit() and text == _seal_position(int(text[:20])):
            return int(text[:20])
        # The writer may be half way through its overwriting: that is over at the next look.
    return None


def _seal_position(position: int) -> bytes:
    digits = b"%020d" % position
    return b"%s %08x\n" % (digits, zlib.crc32(digits))


def _lock(directory: Path) -> int:
    file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise RunError(
            f"the log '{directory}' is being written by another listener: stop that one, or use another directory"
        ) from None
    return file


def _segments(directory: Path) -> list[int]:
    return sorted(int(path.stem) for path in directory.glob("[0-9]*.log"))


def _segment_path(directory: Path, start: int) -> Path:
    return directory / f"{start:020d}.log"


def _flush_directory(directory: Path) -> None:
    # A new file is durable only when its directory is.
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _damage_error(directory: Path, held: int, wanted: int) -> RunError:
    return RunError(
        f"the log '{directory}' is damaged: it should reach to position {wanted}, and stops at {held}; "
        "bring its files back, or move the directory away to begin a new log"
    )
