"""The control stream: which marks lie in its folder."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from millstream.spark.run.control import end_after, forget_unread, signal
from millstream.spark.stage.control_words import END, TICK, WAIT


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
    assert not list(tmp_path.glob("*.mark"))


def test_no_mark_is_older_than_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    signal(tmp_path, "1")
    for hours, word in ((30, "2"), (10, "3"), (20, "4")):  # a clock that is put back is no reason to pass over a mark
        monkeypatch.setattr(time, "time_ns", lambda hours=hours: now + hours * 3_600_000_000_000)
        signal(tmp_path, word)
    end_after(tmp_path, 3)
    by_name = [file.read_text().strip() for file in sorted(tmp_path.glob("*.mark"))]
    assert by_name == ["1", "2", "3", "4", WAIT, WAIT, END]
    assert words(tmp_path)[-3:] == [WAIT, WAIT, END]
    ages = [file.stat().st_mtime_ns for file in sorted(tmp_path.glob("*.mark"))]
    assert ages == sorted(ages)


def test_the_list_of_marks_that_were_read_stays_short(tmp_path: Path) -> None:
    """Spark puts its lists together every ten batches, with all that was in them before."""
    control, source = tmp_path / "control", tmp_path / "checkpoint" / "sources" / "1"
    control.mkdir()
    source.mkdir(parents=True)
    known: list[str] = []
    sizes = []
    for batch in range(9, 1009, 10):
        for _ in range(10):
            signal(control, TICK)
        # As Spark: the new list has what the one before it has now. What was read is removed, but for the newest.
        if known:
            known = (source / f"{batch - 10}.compact").read_text().split("\n")[1:]
            (source / f"{batch - 10}.compact").unlink()
        marks = sorted(control.glob("*.mark"))
        known += [json.dumps({"path": mark.as_uri(), "timestamp": 1, "batchId": batch}) for mark in marks]
        (source / f"{batch}.compact").write_text("\n".join(["v1", *known]))
        sizes.append(len(known))
        for mark in marks[:-1]:
            mark.unlink()
        left = marks[-1]
    assert max(sizes) < 100
    signal(control, TICK)
    assert left.name in (source / f"{batch}.compact").read_text()
