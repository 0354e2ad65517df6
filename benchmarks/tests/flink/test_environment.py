"""Flink's environment: where it is, and what is said when it cannot be made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream_bench.flink import environment


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(environment.FOLDER_VARIABLE, str(tmp_path / "env"))
    return tmp_path / "env"


def test_half_an_environment_is_none(home: Path) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").touch()
    assert environment.installed() is None


def test_it_is_made_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        home.mkdir(exist_ok=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    said: list[str] = []
    assert environment.ensure(said.append) == home / "bin" / "python" == environment.ensure(said.append)
    assert [command[1:3] for command in ran] == [["-c", ran[0][2]], ["-m", "venv"], ["-m", "pip"]]
    assert ran[-1][-1] == environment.REQUIREMENT
    assert str(home) in said[0]
    assert len(said) == 2


def test_no_suitable_python(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "PYTHONS", ((2, 8), (2, 9)))
    with pytest.raises(RunError, match=r"needs Python 2\.8 to 2\.9 .*none was found"):
        environment.ensure(lambda _: None)


@pytest.mark.slow
def test_a_failed_install_tells_why_and_leaves_no_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "import sys; print('the index is closed'); sys.exit(1)"
    real = subprocess.run

    def run(command: list[str], **options: object) -> object:
        return real([sys.executable, "-c", words] if "pip" in command else command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(RunError, match="the index is closed"):
        environment.ensure(lambda _: None)
    assert environment.installed() is None
