"""What signals do to a command that has started something."""

from __future__ import annotations

import os
import signal

import pytest

from millstream.cli.main import main, parser
from millstream.cli.signals import leaving_in_order


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
