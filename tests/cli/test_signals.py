"""What signals do to a command that has started something."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.cli.signals import leaving_in_order, stop_signals


@pytest.fixture
def handlers() -> Iterator[None]:
    """No signal is ignored, as those are under nohup; the handlers are put back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_leaves_as_an_error_does(handlers: None, number: signal.Signals) -> None:
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


def test_a_stop_is_asked_for_first_and_then_done_at_once(handlers: None) -> None:
    ended: list[int] = []
    with stop_signals(ended.append) as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        assert (stop.is_set(), stop.code, ended) == (True, 130, [])
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended == [143]
    os.kill(os.getpid(), signal.SIGHUP)  # Python itself is still to end
    assert ended == [143, 129]


def test_without_a_stop_signals_mean_what_they_did(handlers: None) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_signals(lambda _: None):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_while_python_ends_lets_spark_end_at_once() -> None:
    code = """if True:
        import os, signal
        from millstream.spark.process import jvm
        def end_spark(patience=5.0):
            print(patience)
            if patience:
                os.kill(os.getpid(), signal.SIGINT)
        jvm.end_spark = end_spark
        jvm.scratch()
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("5.0\n0\n", "")


def test_what_nohup_ignores_stays_ignored() -> None:
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with leaving_in_order():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, old)


HASTY = """
import importlib.abc, os, signal, sys

class Hasty(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "psutil" and "millstream.spark.process.jvm" in sys.modules:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Hasty())
from millstream.cli.main import main
main(["run", sys.argv[1]])
"""


def test_a_second_signal_in_the_middle_of_an_import_leaves_at_once(tmp_path: Path) -> None:
    script = tmp_path / "x.esl"
    script.write_text("SELECT 1 AS one;")
    command = [sys.executable, "-c", HASTY, str(script)]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (130, "stopped at once\n")
