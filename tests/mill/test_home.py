"""The folder of a mill: a place for each name, whatever the name is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millstream.errors import RunError
from millstream.mill.home.home import QUERIES, Home
from millstream.mill.home.query_record import QueryRecord

HOSTILE = ["", ".", "..", "/", "../../victim", "a/b", "a\0b", "%", "%2f", "a%20b", "a b", " ", "x" * 256, "ß" * 99]
HOSTILE += ["~", "*", "[a]", "{a,b}", "a\\b", "a:b", "a\nb", "é", "e\u0301", "\ud800", ".staging", "x" * 255 + "/", "-"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    opened = Home(tmp_path_factory.mktemp("home"))
    yield opened
    opened.close()


def places(home: Home) -> list[tuple[str, Callable[[str], Path]]]:
    return [("queries", home.query_folder), ("logs", home.log_of), ("tables", home.table_folder)]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_one_folder_in_its_own_place(home: Home, name: str) -> None:
    for kind, place in places(home):
        folder = place(name)
        assert folder.parent == home.root / kind
        assert folder.resolve().parent == (home.root / kind).resolve()
        assert folder.name not in {"", ".", ".."}
        assert folder.name.isascii()
        folder.mkdir(parents=True)
        folder.rmdir()


@given(st.text(max_size=300), st.text(max_size=300))
@example("a/b", "a%2fb")
@example("x" * 300, "x" * 299 + "y")
def test_two_names_never_share_a_folder(home: Home, one: str, other: str) -> None:
    same = one.lower() == other.lower()  # which is the same name
    assert (home.query_folder(one) == home.query_folder(other)) == same
    assert len(os.fsencode(home.query_folder(one).name)) <= 255


@pytest.mark.parametrize("name", ["q", "select_1", "_x", "alerts_2", "a-b", "a.b", "x" * 255])
def test_plain_names_keep_their_folders(home: Home, name: str) -> None:
    for kind, place in places(home):
        assert place(name.upper()) == home.root / kind / name


def test_what_was_kept_under_a_name_as_it_is_stays_in_use(tmp_path: Path) -> None:
    with_spaces = tmp_path / "logs" / "größte gebote"
    with_spaces.mkdir(parents=True)
    home = Home(tmp_path)
    assert home.log_of("Größte Gebote") == with_spaces
    assert home.log_of("a%20b") != home.log_of("a b")
    home.close()


def test_to_forget_a_query_touches_nothing_else(tmp_path: Path) -> None:
    victim = tmp_path / "victim" / "file"
    victim.parent.mkdir()
    victim.touch()
    home = Home(tmp_path / "home")
    for name in ("../../victim", "..", ".", "", str(victim.parent)):
        home.forget_query(name)
    assert victim.exists()
    assert (tmp_path / "home" / "queries").exists()
    home.close()


@pytest.mark.parametrize("file", ["query.json", "member.json"])
def test_a_query_whose_records_are_damaged_can_be_forgotten(tmp_path: Path, file: str) -> None:
    home = Home(tmp_path)
    folder = home.query_folder("q")
    folder.mkdir(parents=True)
    (folder / file).write_text("")
    with pytest.raises(RunError, match=f"{file} is damaged"):
        home.host_of("q") if file == "member.json" else home.query_place("q", QueryRecord(()))
    home.forget_query("q")
    assert not folder.exists()
    home.close()


def test_a_folder_that_nobody_came_to_use_is_removed_and_nothing_else(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for name in ("q", "q%~2", "p%~2"):
        home.make_place(name, QueryRecord(["s"]))
    home.keep_place("q")
    (tmp_path / QUERIES / "q" / "hold").touch()
    home.forget_made({"q", "p%~2"})
    assert sorted(folder.name for folder in (tmp_path / QUERIES).iterdir()) == ["p%~2", "q"]
    assert [file.name for folder in (tmp_path / QUERIES).iterdir() for file in folder.iterdir()] == ["query.json"] * 2
    home.close()
