"""A file locked by the query that writes it; the system releases the lock when the process ends."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from millstream.connectors.places.paths import leads_to
from millstream.errors import RunError

TAIL_BYTES = 4096


def make_folder(folder: Path) -> None:
    """Make a folder and those above it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise RunError(f"{folder} cannot be a folder: there is a file in its place") from None
    except OSError as problem:
        raise RunError(f"{folder} cannot be made: {(problem.strerror or str(problem)).lower()}") from None


class LockedFile:
    """An open file that one query writes, and no other one of this machine, until it is closed."""

    def __init__(self, path: Path, create: bool) -> None:
        self.path = path
        try:
            if create:
                make_folder(path.parent)
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o666)
        except FileNotFoundError:
            raise
        except OSError as problem:
            raise RunError(f"{path} cannot be written: {(problem.strerror or str(problem)).lower()}") from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            self.close()
            if not isinstance(problem, BlockingIOError):
                raise RunError(f"{path} cannot be locked: {(problem.strerror or str(problem)).lower()}") from None
            raise RunError(
                f"another query writes {path}, here or in another process\n"
                "help: stop that one first, or use a folder, which several queries may share"
            ) from None

    @property
    def inode(self) -> int:
        """What the file system knows the file by."""
        return os.fstat(self._fd).st_ino

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return os.fstat(self._fd).st_size

    @property
    def is_in_place(self) -> bool:
        """Whether its path still leads to it."""
        return leads_to(self.path, self._fd)

    def tail(self, length: int) -> str:
        """A digest of the last bytes before a length: other contents have another one."""
        start = max(0, length - TAIL_BYTES)
        return hashlib.sha256(os.pread(self._fd, length - start, start)).hexdigest()

    def ends_a_line(self, length: int) -> bool:
        """Whether the bytes before a length end with a line, or there are none."""
        return length == 0 or os.pread(self._fd, 1, length - 1) == b"\n"

    def cut(self, length: int) -> None:
        """Take off what lies beyond a length."""
        os.ftruncate(self._fd, length)

    def append(self, head: bytes, parts: Iterable[Path]) -> int:
        """Add some bytes and whole files at the end, and say how long it is now: all of it is on disk."""
        with open(self._fd, "r+b", closefd=False) as out:
            out.seek(0, os.SEEK_END)
            out.write(head)
            for part in parts:
                with part.open("rb") as rows:
                    shutil.copyfileobj(rows, out, 1 << 20)
            out.flush()
            os.fsync(self._fd)
            return out.tell()

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
