"""Files and folders that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream_bench.data.aside import write_aside


def test_a_folder_is_there_once_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "rows"
    with write_aside(target) as staging:
        staging.mkdir()
        (staging / "part").write_text("1")
        assert not target.exists()
    assert (target / "part").read_text() == "1"
    assert list(target.parent.iterdir()) == [target]


def test_a_file_takes_the_place_of_another(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    target.write_text("old")
    with write_aside(target) as staging:
        staging.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    with write_aside(tmp_path / "match") as staging:
        (tmp_path / "match").mkdir()
        staging.mkdir()
        (staging / "part").touch()
    assert (tmp_path / "match" / "part").exists()


@pytest.mark.parametrize("folder", [True, False])
def test_what_is_cut_off_leaves_nothing(tmp_path: Path, folder: bool) -> None:
    def cut_off(staging: Path) -> None:
        if folder:
            staging.mkdir()
            (staging / "part").touch()
        else:
            staging.touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), write_aside(tmp_path / "rows") as staging:
        cut_off(staging)
    assert list(tmp_path.iterdir()) == []
