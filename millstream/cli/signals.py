"""What the signals of the system mean to the shell."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def shell_signals(interrupted: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C only be noted, and let a request to end, or a closed terminal, leave in good order."""

    def note(number: int, frame: object) -> None:
        interrupted()

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    handlers = {signal.SIGINT: note, signal.SIGTERM: leave, signal.SIGHUP: leave}
    old = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
