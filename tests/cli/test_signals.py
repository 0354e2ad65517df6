"""What signals do to a command that has started something."""

from __future__ import annotations

import os
import signal

import pytest

from millstream.cli.main import main, parser
from millstream.cli.signals import leaving_in_order, stop_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_leaves_as_an_error_does(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stopped = []

    def work() -> None:
        try:
            os.kill(os.getpid(), number)
        finally:
            stopped.append("engine")

    with pytest.raises(SystemExit) as left, leaving_in_order():
        work()
    assert left.value.code == 128 + number
    assert stopped == ["engine"]
    assert signal.getsignal(number) == before


def test_a_stop_is_asked_for_first_and_then_done_at_once() -> None:
    ended: list[int] = []
    with stop_signals(ended.append) as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        assert (stop.is_set(), stop.code, ended) == (True, 130, [])
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended == [143]


def test_what_nohup_ignores_stays_ignored() -> None:
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with leaving_in_order():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, old)


def test_benchmarks_leave_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = parser().parse_args(["bench", "debs"])
    assert parsed.signals is leaving_in_order
    monkeypatch.setattr("millstream.cli.main.parser", lambda: _Asked(parsed))
    parsed.command = lambda _: os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 128 + signal.SIGTERM


class _Asked:
    def __init__(self, parsed: object) -> None:
        self._parsed = parsed

    def parse_args(self, arguments: object) -> object:
        return self._parsed
