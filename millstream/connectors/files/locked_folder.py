"""A folder that several queries may write to; none may empty it while another one writes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from millstream.connectors.files.locked_file import make_folder
from millstream.connectors.places.paths import leads_to
from millstream.errors import RunError


class LockedFolder:
    """A folder of this machine, shared with other writers. The system lets go of it when the process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        make_folder(path)
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as problem:
            raise RunError(f"{path} cannot be written to: {(problem.strerror or str(problem)).lower()}") from None
        self._lock(fcntl.LOCK_SH)

    def claim(self) -> None:
        """Make sure that nobody else writes to it now, or say so."""
        if not self._lock(fcntl.LOCK_EX):
            raise RunError(
                f"another query writes to {self.path}, and OPTIONS (mode = 'overwrite') would remove its rows\n"
                "help: stop that one first, or choose another folder"
            )
        self._lock(fcntl.LOCK_SH)

    @property
    def is_in_place(self) -> bool:
        """Whether its path still leads to it."""
        return leads_to(self.path, self._fd)

    def _lock(self, how: int) -> bool:
        try:
            fcntl.flock(self._fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system that knows no locks: there nobody can be asked
            return True
        return True

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
