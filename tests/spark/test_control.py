"""The control stream: which marks lie in its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millstream.spark.control import END, TICK, WAIT, end_after, forget_unread, signal


def words(folder: Path) -> list[str]:
    """The marks, the oldest first, as Spark reads them: it tells ages apart by milliseconds."""
    by_age = {file.stat().st_mtime_ns // 1_000_000: file.read_text().strip() for file in folder.glob("*.mark")}
    return [by_age[age] for age in sorted(by_age)]


@pytest.mark.parametrize("batches", [1, 2, 50])
def test_the_end_is_the_youngest_mark(tmp_path: Path, batches: int) -> None:
    end_after(tmp_path, batches)
    assert words(tmp_path) == [WAIT] * (batches - 1) + [END]


def test_marks_that_a_batch_was_planned_with_stay(tmp_path: Path) -> None:
    control, source = tmp_path / "control", tmp_path / "checkpoint" / "sources" / "0"
    control.mkdir()
    source.mkdir(parents=True)
    for word in (TICK, END):
        signal(control, word)
    planned, left = sorted(control.glob("*.mark"))
    (source / "9.compact").write_text("v1\n")
    (source / "10").write_text(f'v1\n{{"path":"file://{planned}","timestamp":1,"batchId":10}}')
    (source / ".10.crc").write_bytes(os.urandom(8))
    forget_unread(control, tmp_path / "checkpoint")
    assert planned.exists()
    assert not left.exists()


def test_nothing_was_planned_and_nothing_is_there(tmp_path: Path) -> None:
    forget_unread(tmp_path / "control", tmp_path / "checkpoint")
    signal(tmp_path, END)
    forget_unread(tmp_path, tmp_path / "checkpoint")
    assert not list(tmp_path.iterdir())
