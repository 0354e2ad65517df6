"""A checkpoint that is damaged is told by the name of the file, before Spark says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.spark.run.whole_checkpoint import check_whole

OFFSETS = 'v1\n{"batchTimestampMs":1}\n{"logOffset":3}\n-'
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind, numbers, text in (("offsets", range(12), OFFSETS), ("commits", range(11), COMMIT)):
        (tmp_path / "checkpoint" / kind).mkdir(parents=True)
        for number in numbers:
            (tmp_path / "checkpoint" / kind / str(number)).write_text(text)
            (tmp_path / "checkpoint" / kind / f".{number}.crc").write_text("")
    return tmp_path


def test_one_that_is_whole_is_accepted(folder: Path) -> None:
    check_whole(folder)
    check_whole(folder / "none")
    (folder / "checkpoint" / "offsets" / "0").write_text("")  # not looked at any more
    check_whole(folder)


@pytest.mark.parametrize("left", ["", "v1", 'v1\n{"batch', "v1\n-\n{]", "x\n-", "v1\n\xff\n"])
@pytest.mark.parametrize("file", ["offsets/11", "commits/10"])
def test_one_that_is_damaged_is_told(folder: Path, file: str, left: str) -> None:
    (folder / "checkpoint" / file).write_text(left, encoding="latin-1")
    with pytest.raises(RunError, match=f"checkpoint/{file} is damaged\nhelp: bring it back, or remove {folder} to"):
        check_whole(folder)


@pytest.mark.parametrize("gone", [range(10, 12), range(12)])
def test_offsets_that_are_gone_are_told(folder: Path, gone: range) -> None:
    for number in gone:
        (folder / "checkpoint" / "offsets" / str(number)).unlink()
    with pytest.raises(RunError, match="offsets/10 is gone\nhelp: bring it back, or drop it"):
        check_whole(folder, "drop it")
