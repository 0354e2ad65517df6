"""Temporary folders of dead processes are removed; those of live ones, of others, or left on purpose are not."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from millstream.spark.process import leftovers
from millstream.spark.process.leftovers import LOCK, OWNER, claim, copies, new_folder, owner, remove_leftovers


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(leftovers, "_own", set())
    return tmp_path


@pytest.fixture(scope="module")
def dead() -> str:
    """A process that has ended."""
    code = "from millstream.spark.process.leftovers import owner; print(owner())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def folder(name: str, *files: str) -> Path:
    made = copies().parent / name
    made.mkdir()
    for file in files:
        (made / file).write_text("x")
    return made


def test_folders_of_dead_processes_are_removed(dead: str, temporary: Path) -> None:
    killed = folder(f"millstream-{dead}-abc", LOCK, "spark.log")
    begun = folder(f"millstream-{dead}-abd")
    again = folder(f"millstream-{os.getpid()}-12-abc", LOCK)  # the number has come again
    remove_leftovers()
    assert not any(one.exists() for one in (killed, begun, again))


def test_what_is_in_use_or_wanted_stays(dead: str, temporary: Path) -> None:
    mine = folder(f"millstream-{owner()}-abc", LOCK)
    log = folder(f"millstream-{dead}-abc", "spark.log")
    others = [folder("millstream-bench", LOCK), folder("millstream-postgres-1-x", LOCK)]
    held = folder(f"millstream-{dead}-abd", LOCK)  # by a process that cannot be seen from here
    (temporary / f"millstream-{dead}-abe").symlink_to(mine)
    with (held / LOCK).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_leftovers()
    assert all(one.exists() for one in (mine, log, held, *others, temporary / f"millstream-{dead}-abe"))


def test_copies_go_with_their_owner(dead: str) -> None:
    claim(copies() / "mine")
    claim(copies() / "killed")
    (copies() / "killed" / OWNER).write_text(dead)
    for name, age in (("new", 0), ("old", 2 * 24 * 3600)):
        (copies() / name).mkdir()
        os.utime(copies() / name, (time.time() - age,) * 2)
    remove_leftovers()
    assert sorted(one.name for one in copies().iterdir()) == ["mine", "new"]


def test_copies_go_with_a_process_that_ends_at_once() -> None:
    claim(copies() / "0123456789ab")
    leftovers.remove_own()
    assert list(copies().iterdir()) == []


def test_nobody_elses_folder_is_taken_for_copies(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    copies().symlink_to(tmp_path / "elsewhere")
    claim(copies() / "mine")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_new_folder_is_removed_on_leaving_unless_it_is_kept() -> None:
    one, other = new_folder(), new_folder()
    leftovers.keep(other)
    leftovers.remove_own()
    assert (one.exists(), other.exists()) == (False, True)
