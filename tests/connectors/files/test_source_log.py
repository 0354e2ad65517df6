"""Spark's lists of files in a checkpoint: what a batch was given."""

from __future__ import annotations

import json
from pathlib import Path

from millstream.connectors.files.source_log import LONG_BYTES, files_of, forget_gone


def keep(checkpoint: Path, batch: int, offsets: list[int | None], lists: dict[str, list[str]]) -> None:
    """What Spark writes when it begins a batch; `lists` are files by SOURCE/NUMBER."""
    (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
    ends = ["-" if end is None else json.dumps({"logOffset": end}) for end in offsets]
    (checkpoint / "offsets" / str(batch)).write_text("\n".join(["v1", "{}", *ends]))
    for place, files in lists.items():
        log = checkpoint / "sources" / place
        log.parent.mkdir(parents=True, exist_ok=True)
        number = int(log.stem)
        lines = [json.dumps({"path": file, "timestamp": 1, "batchId": number}) for file in files]
        log.write_text("\n".join(["v1", *lines]))


def paths(checkpoint: Path, batch: int) -> list[tuple[int, str]]:
    return [(file.source, str(file.path)) for file in files_of(checkpoint, batch)]


def test_the_files_of_a_batch(tmp_path: Path) -> None:
    keep(tmp_path, 0, [0, None], {"0/0": ["file:///a%20b.csv"]})
    keep(tmp_path, 1, [2, 0], {"0/1": ["file:///c.csv"], "0/2.compact": ["file:///d%5B1%5D.csv"], "1/0": ["file:///e"]})
    keep(tmp_path, 2, [2, 0], {})
    assert paths(tmp_path, 0) == [(0, "/a b.csv")]
    assert paths(tmp_path, 1) == [(0, "/c.csv"), (0, "/d[1].csv"), (1, "/e")]
    assert paths(tmp_path, 2) == paths(tmp_path, 3) == []


def test_files_that_are_gone_leave_the_list_of_their_folder_alone(tmp_path: Path) -> None:
    folder, other = tmp_path / "a b", tmp_path / "other"
    folder.mkdir()
    names = [f"{number:020d}.mark" for number in range(LONG_BYTES // 50)]
    (folder / names[3]).touch()
    for source, place in enumerate((other, folder)):
        keep(tmp_path, 1, [9, 9], {f"{source}/9.compact": [(place / name).as_uri() for name in names]})
    forget_gone(tmp_path, folder)
    assert paths(tmp_path, 1) == [*((0, str(other / name)) for name in names), (1, str(folder / names[3]))]
    assert [file.name for file in (tmp_path / "sources" / "1").iterdir()] == ["9.compact"]
