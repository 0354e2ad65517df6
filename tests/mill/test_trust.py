"""A checkpoint holds Python objects: nobody else may have written it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill.home.home import Home


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that a mill has used."""
    Home(tmp_path / "kept").close()
    (tmp_path / "kept" / "queries" / "q").mkdir(mode=0o755)
    return tmp_path / "kept"


def refused(root: Path) -> str:
    with pytest.raises(RunError) as problem:
        Home(root)
    return str(problem.value)


def test_what_a_mill_makes_nobody_else_can_write(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Home(tmp_path / "new").close()
    finally:
        os.umask(before)
    Home(tmp_path / "new").close()
    assert {p.stat().st_mode & 0o022 for p in (tmp_path / "new", tmp_path / "new" / "queries")} == {0}


@pytest.mark.parametrize("place", ["", "queries", "queries/q"])
def test_folders_that_others_can_write_are_refused(root: Path, place: str) -> None:
    Home(root).close()
    (root / place).chmod(0o757)
    told = refused(root)
    assert told.startswith(f"{root / place} can be written by other users: ".replace("/ can", " can"))
    assert f"help: if you trust what is in it: chmod -R go-w {root / place}" in told
    (root / place).chmod(0o755)
    Home(root).close()


def test_folders_of_others_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = root.stat().st_uid
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    if owner != 0:  # what belongs to root is trusted
        assert f"{root} belongs to" in refused(root)
        return
    Home(root).close()
    os.chown(root / "queries" / "q", 4711, -1)
    assert refused(root).startswith(f"{root / 'queries' / 'q'} belongs to user 4711: a checkpoint holds Python objects")


def test_links_are_refused(root: Path, tmp_path: Path) -> None:
    (root / "queries" / "q").rename(tmp_path / "elsewhere")
    (root / "queries" / "q").symlink_to(tmp_path / "elsewhere")
    assert refused(root).startswith(f"{root / 'queries' / 'q'} is a link")
