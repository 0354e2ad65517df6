"""Text from other threads, written above the prompt."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections import deque
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession


class AbovePrompt:
    """A standard output whose text appears above the prompt while there is one, and is never lost in between."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._pending: deque[str] = deque()
        self._writing = threading.RLock()
        self._session: PromptSession[str] | None = None
        self._context = contextvars.copy_context()

    def attach(self, session: PromptSession[str]) -> None:
        """A prompt is on the screen from now on; called from inside its application."""
        self._context = contextvars.copy_context()
        self._session = session

    def detach(self) -> None:
        """The prompt is gone."""
        self._session = None
        self._drain()

    def write(self, text: str) -> int:
        """Take text to be written at the next flush."""
        self._pending.append(text)
        return len(text)

    def flush(self) -> None:
        """Write what was taken, above the prompt if there is one."""
        session = self._session
        loop = session.app.loop if session else None
        if loop is None:
            self._drain()
            return
        with contextlib.suppress(RuntimeError):  # the prompt has just ended: `detach` writes what is left
            loop.call_soon_threadsafe(self._drain_above, context=self._context)

    def isatty(self) -> bool:
        """Whether a person is looking."""
        return self._file.isatty()

    def fileno(self) -> int:
        """The file's number in the system."""
        return self._file.fileno()

    @property
    def encoding(self) -> str:
        """How text becomes bytes."""
        return str(getattr(self._file, "encoding", "utf-8"))

    def _drain_above(self) -> None:
        from prompt_toolkit.application import run_in_terminal

        run_in_terminal(self._drain)

    def _drain(self) -> None:
        with self._writing:
            while self._pending:
                self._file.write(self._pending.popleft())
            self._file.flush()
