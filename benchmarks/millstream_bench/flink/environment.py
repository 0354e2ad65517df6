"""The virtual environment that PyFlink has to itself: its packages are too old for the ones that Millstream uses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from millstream.errors import RunError

REQUIREMENT = "apache-flink==2.3.0"
PYTHONS = ((3, 9), (3, 12))
"""The oldest and the newest Python that this release of PyFlink runs on."""
FOLDER_VARIABLE = "MILLSTREAM_FLINK"

_STAMP = ".installed"
_LOG_LINES = 10


def folder() -> Path:
    """Where the environment is: what the variable says, else `.flink` in the working folder."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ".flink").absolute()


def installed() -> Path | None:
    """The environment's Python; None if the environment is not there, or not whole."""
    home = folder()
    return home / "bin" / "python" if (home / _STAMP).exists() else None


def ensure(say: Callable[[str], None]) -> Path:
    """The environment's Python; the environment is made now if it is not there."""
    if found := installed():
        return found
    home = folder()
    base = _suitable_python()
    say(f"flink: installing {REQUIREMENT} into {home} (once; a few minutes, about 850 MB)")
    shutil.rmtree(home, ignore_errors=True)
    python = home / "bin" / "python"
    _run([base, "-m", "venv", str(home)], home)
    _run([str(python), "-m", "pip", "install", "--disable-pip-version-check", REQUIREMENT], home)
    (home / _STAMP).write_text(f"{REQUIREMENT}\n", encoding="utf-8")
    say(f"flink: installed {REQUIREMENT}")
    return python


def _suitable_python() -> str:
    low, high = PYTHONS
    names = [f"python{low[0]}.{minor}" for minor in range(high[1], low[1] - 1, -1)]
    for name in (sys.executable, *names):
        # A name on the PATH may be a stub for a version that is not there: only a run tells.
        check = f"import sys, venv; sys.exit(not {low} <= sys.version_info[:2] <= {high})"
        try:
            if subprocess.run([name, "-c", check], capture_output=True, check=False).returncode == 0:
                return name
        except OSError:
            continue
    raise RunError(
        f"engine flink needs Python {low[0]}.{low[1]} to {high[0]}.{high[1]} for {REQUIREMENT}, and none was found\n"
        "help: install one so that it is on the PATH, or leave flink out of --against"
    )


def _run(command: list[str], home: Path) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0:
        return
    last = "".join(f"\n  | {line}" for line in done.stdout.strip().splitlines()[-_LOG_LINES:])
    raise RunError(
        f"engine flink could not be installed into {home}{last}\n"
        "help: it needs the package index that pip is set up for; or leave flink out of --against"
    )


if __name__ == "__main__":
    try:
        print(ensure(lambda line: print(line, file=sys.stderr)))  # noqa: T201
    except RunError as problem:
        sys.exit(str(problem))
