"""What the signals of the system mean to commands."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)


_LEAVING = {signal.SIGTERM: _leave, signal.SIGHUP: _leave}


@contextlib.contextmanager
def shell_signals(interrupted: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C only be noted, and let a request to end, or a closed terminal, leave in good order."""

    def note(number: int, frame: object) -> None:
        interrupted()

    with _handled({signal.SIGINT: note, **_LEAVING}):
        yield


def leaving_in_order() -> contextlib.AbstractContextManager[None]:
    """Let a request to end, or a closed terminal, leave as an error does: what was started is stopped on the way."""
    return _handled(_LEAVING)


@contextlib.contextmanager
def _handled(handlers: Mapping[signal.Signals, Callable[[int, object], None]]) -> Iterator[None]:
    old = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
