"""The roster of a host is read as it was written, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.spark.hosts.roster import ROSTER, Roster


@pytest.mark.parametrize("left", ["", "[{}]", '[{"member": "a"'])
def test_a_roster_that_is_damaged_is_told(tmp_path: Path, left: str) -> None:
    assert Roster(tmp_path).entries == {}
    (tmp_path / ROSTER).write_text(left)
    with pytest.raises(RunError, match=r"roster\.json is damaged\nhelp: bring it back, or DROP"):
        Roster(tmp_path)
