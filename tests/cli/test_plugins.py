"""Sub-commands of other packages: they are found by their entry points, and missed in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.cli import plugins
from millstream.cli.main import main


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages that comes first."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(site: Path, package: str, points: dict[str, str]) -> None:
    """What an installer would write of a package."""
    about = site / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {place}\n" for name, place in points.items())
    (about / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{lines}")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other package has a sub-command."""
    monkeypatch.setattr(plugins, "entry_points", lambda **_: [])


def test_a_command_of_another_package(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "greeting.py").write_text(
        "def add_arguments(commands):\n"
        "    parser = commands.add_parser('greet', help='says hello')\n"
        "    parser.add_argument('name')\n"
        "    parser.set_defaults(command=lambda arguments: print('hello', arguments.name) or 0)\n"
    )
    install(site, "greeting", {"greet": "greeting:add_arguments"})
    assert main(["greet", "you"]) == 0
    assert capsys.readouterr().out == "hello you\n"
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "says hello" in capsys.readouterr().out


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("arguments", [["demo"], ["bench", "sliding", "--rows", "5"], ["generate", "--help"]])
def test_what_is_not_installed_says_what_to_install(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert capsys.readouterr().err == (
        f"millstream {arguments[0]} comes with millstream-bench, which is not installed: "
        'run "pip install ./benchmarks" in a clone of Millstream\n'
    )


@pytest.mark.usefixtures("alone")
def test_help_lists_what_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "bench measure Millstream beside other engines (needs millstream-bench)" in told


def test_a_command_that_cannot_be_loaded_keeps_no_other_from_working(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "broken", {"break": "no_such_module:add_arguments"})
    script = tmp_path / "empty.esl"
    script.touch()
    assert main(["explain", str(script)]) == 0
    capsys.readouterr()
    assert main(["break", "--hard"]) == 1
    assert (
        capsys.readouterr().err == "millstream break cannot be loaded from broken: No module named 'no_such_module'\n"
    )
