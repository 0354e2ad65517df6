"""What queries still have to read of a log, by themselves or as members of a host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.history.reading_positions import UNKNOWN, find_reading_positions, planned_end


def batch(folder: Path, number: int, position: int, committed: bool = True) -> None:
    for kind in ("offsets", "commits"):
        (folder / "checkpoint" / kind).mkdir(parents=True, exist_ok=True)
    offset = json.dumps({"position": position, "stream": "s"})
    (folder / "checkpoint" / "offsets" / str(number)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{offset}\n')
    if committed:
        (folder / "checkpoint" / "commits" / str(number)).touch()


def begun(folder: Path, position: int, host: str | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "starts.json").write_text(json.dumps({"said": None, "starts": {"s": [position, None, None]}}))
    if host is not None:
        (folder / "member.json").write_text(json.dumps({"folder": host}))
    return folder


def test_a_member_still_has_to_read_what_its_host_has(tmp_path: Path) -> None:
    alone = begun(tmp_path / "queries" / "alone", 7)
    host = begun(tmp_path / "hosts" / "s" / "1", 3)
    begun(tmp_path / "queries" / "member", 20, "hosts/s/1")

    def now() -> dict[str, int]:
        return find_reading_positions((tmp_path / "queries").iterdir(), "S")

    assert now() == {"alone": 7, "member": 3}
    batch(alone, 0, 9)
    batch(host, 0, 15)
    batch(host, 1, 22, committed=False)
    assert now() == {"alone": 9, "member": 15}
    batch(host, 1, 22)
    assert now() == {"alone": 9, "member": 22}


def test_how_far_a_host_has_planned(tmp_path: Path) -> None:
    host = begun(tmp_path / "hosts" / "s" / "1", 3)
    assert planned_end(host, "S") == 3
    batch(host, 0, 15)
    batch(host, 1, 22, committed=False)
    assert planned_end(host, "s") == 22
    batch(host, 1, 22)
    (host / "checkpoint" / "offsets" / "2").write_text("v1\n{}\n")
    assert planned_end(host, "s") == UNKNOWN  # nobody joins what is not understood


def test_a_damaged_record_of_a_member_is_told_of(tmp_path: Path) -> None:
    member = begun(tmp_path / "queries" / "member", 20, "hosts/s/1")
    (member / "member.json").write_text("{")
    with pytest.raises(RunError, match=r"member\.json is damaged"):
        find_reading_positions(iter([member]), "s")
