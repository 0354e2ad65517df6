"""How commands handle the signals of the system."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)


_LEAVING = {signal.SIGTERM: _leave, signal.SIGHUP: _leave}


class Stop(threading.Event):
    """Set when the user asks for a stop; `code` is then how a command exits that has not done what it should."""

    code = 0


@contextlib.contextmanager
def stop_signals(at_once: Callable[[int], None]) -> Iterator[Stop]:
    """Let Ctrl-C, a request to end, or a closed terminal ask for a clean stop; a second one calls `at_once`.

    Also one that comes when the first has been obeyed, and only Python itself is still to end.
    """
    stop = Stop()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            at_once(128 + number)
        stop.code = 128 + number
        stop.set()

    with _handle_signals(dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), handle), for_good=stop.is_set):
        yield stop


@contextlib.contextmanager
def shell_signals(interrupted: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C only be noted, and let a request to end, or a closed terminal, leave in good order."""

    def note(number: int, frame: object) -> None:
        interrupted()

    with _handle_signals({signal.SIGINT: note, **_LEAVING}):
        yield


def leaving_in_order() -> contextlib.AbstractContextManager[None]:
    """Let a request to end, or a closed terminal, leave as an error does: what was started is stopped on the way."""
    return _handle_signals(_LEAVING)


@contextlib.contextmanager
def _handle_signals(
    handlers: Mapping[signal.Signals, Callable[[int, object], None]], for_good: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # by `nohup`: a closed terminal is to change nothing
    old = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if not (ignored and number is signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in () if for_good() else old.items():
            signal.signal(number, handler)
