"""Spark's lists of files in a checkpoint: what a batch was given."""

from __future__ import annotations

import json
from pathlib import Path

from millstream.spark.source_log import files_of


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
