"""The roster of a host is read as it was written, or not at all; those who begin together are written down together."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from millstream.errors import RunError
from millstream.spark.hosts import roster as roster_module
from millstream.spark.hosts.member import Member
from millstream.spark.hosts.roster import ROSTER, Roster, read_batch_members


@pytest.mark.parametrize("left", ["", "[{}]", '[{"member": "a"'])
def test_a_roster_that_is_damaged_is_told(tmp_path: Path, left: str) -> None:
    assert Roster(tmp_path).entries == {}
    (tmp_path / ROSTER).write_text(left)
    with pytest.raises(RunError, match=r"roster\.json is damaged\nhelp: bring it back, or DROP"):
        Roster(tmp_path)


def member(name: str) -> Member:
    return Member(name, name, pa.schema([("k", pa.int32())]))


def test_members_that_begin_together_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    write = roster_module._write

    def noted(file: Path, content: bytes, named: bool = True) -> None:
        written.append(file.name)
        write(file, content, named)

    monkeypatch.setattr(roster_module, "_write", noted)
    roster = Roster(tmp_path)
    with roster.gathered():
        assert all(roster.add(member(f"m{n}"), None, 0) for n in range(20))
        assert not read_batch_members(tmp_path, 0).members
    assert {one.id for one in read_batch_members(tmp_path, 0).members} == {f"m{n}" for n in range(20)}
    assert written.count(roster_module.ROSTER) == 1
    assert Roster(tmp_path).entries == roster.entries
    roster.end("m3", 5, "")
    assert len(read_batch_members(tmp_path, 5).members) == 19, "later ones are written at once"
