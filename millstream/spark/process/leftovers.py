"""Temporary folders of this process, and those that killed processes left behind.

A folder is named after its owner, by number and start, and holds a lock while the owner lives: numbers come again, and
in a container they say nothing outside of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

LOCK = "lock"
LOG = "spark.log"
OWNER = ".owner"
_OWNED = re.compile(r"millstream-(\d+)-(\d+)-\w+")
_DAY_SECONDS = 24 * 3600.0

_own: set[Path] = set()
_looked: list[int] = []


def new_folder() -> Path:
    """A new folder of this process; the first time, what killed processes left behind is removed."""
    if os.getpid() not in _looked:
        _looked[:] = [os.getpid()]
        remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=f"millstream-{owner()}-"))
    _own.add(folder)
    return folder


def hold(folder: Path) -> IO[str]:
    """Lock a folder of this process, so that others know that it is in use; it is let go by closing the file."""
    lock = (folder / LOCK).open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def remove_own() -> None:
    """Remove all folders of this process: it is about to end without any other farewell."""
    for folder in _own:
        shutil.rmtree(folder, ignore_errors=True)


def keep(folder: Path) -> None:
    """Leave a folder of this process where it is."""
    _own.discard(folder)


def owner() -> str:
    """This process, in a form that no other one ever has."""
    return f"{os.getpid()}-{_find_start_time(os.getpid())}"


def copies() -> Path:
    """Where copies of state are, for this user of this machine."""
    return Path(tempfile.gettempdir()) / f"millstream-{os.getuid()}"


def have_copies() -> bool:
    """Make the folder of copies; whether nobody else made it for us, to read our state or to give us one."""
    base = copies()
    base.mkdir(mode=0o700, exist_ok=True)
    return base.lstat().st_uid == os.getuid() and not base.is_symlink()


def claim(folder: Path) -> None:
    """Write down that a folder of copies belongs to this process."""
    with contextlib.suppress(OSError):  # on a full disk there are no copies either
        if have_copies():
            _own.add(folder)
            folder.mkdir(exist_ok=True, mode=0o700)
            (folder / OWNER).write_text(owner())


def remove(folder: Path) -> None:
    """Remove a folder of this process, as far as it is on this machine."""
    shutil.rmtree(folder, ignore_errors=True)
    _own.discard(folder)


def remove_leftovers() -> None:
    """Remove what is owned by processes that are dead."""
    for folder in _folders(Path(tempfile.gettempdir())):
        found = _OWNED.fullmatch(folder.name)
        if found and not _is_alive(*found.groups()) and _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    for folder in _folders(copies()):
        if _is_forgotten(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _folders(root: Path) -> Iterator[Path]:
    """The folders in a folder that are this user's."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                mine = entry.name.startswith("millstream-") or root == copies()
                if mine and entry.is_dir(follow_symlinks=False) and entry.stat().st_uid == os.getuid():
                    yield Path(entry.path)


def _is_alive(pid: str, start: str) -> bool:
    return _find_start_time(int(pid)) == int(start)


def _find_start_time(pid: int) -> int:
    """When a process began, in a measure that does not change with the clock where there is one; 0 if it is dead."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        pass
    import psutil  # not for the processes that only look for copies

    try:
        return int(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0


def _is_abandoned(folder: Path) -> bool:
    """Whether nobody holds a folder; one that only has a log was left on purpose."""
    lock = folder / LOCK
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return not (folder / LOG).exists()
    except OSError:
        return False
    return True


def _is_forgotten(folder: Path) -> bool:
    """Whether copies are of a dead process; those of another machine's driver name none, and are left for a day."""
    try:
        pid, _, start = (folder / OWNER).read_text().partition("-")
        return not _is_alive(pid, start)
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            return folder.stat().st_mtime < time.time() - _DAY_SECONDS
        return False
