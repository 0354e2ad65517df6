"""The commands of the benchmarks as a user meets them."""

from __future__ import annotations

import os
import signal

import pytest

from millstream.cli.main import main, parser
from millstream.cli.signals import leaving_in_order

WORKLOADS = [
    ["passthrough"], ["sliding"], ["join"], ["latency"], ["state"], ["uda"], ["uda", "forms"], ["uda", "udaf"],
    ["uda", "paper"], ["idle"], ["oop"], ["nexmark"], ["debs"], ["sweep"], ["plots"],
]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [["bench"], *(["bench", *workload] for workload in WORKLOADS), ["demo"], ["generate"], ["generate", "nexmark"]],
    ids=" ".join,
)
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    assert f"usage: millstream {' '.join(command)}" in capsys.readouterr().out


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
