"""A home whose catalog is lost says what it holds; one that has lost nothing says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.mill import connect

MADE = """
CREATE STREAM fed (k INT, ts TIMESTAMP) ORDER BY ts;
INSERT INTO fed VALUES (1, TIMESTAMP '2024-01-01 00:00:00');
CREATE TABLE t (k INT);
INSERT INTO t VALUES (1);
"""


@pytest.mark.parametrize("damage", ["removed", "emptied"])
def test_a_catalog_that_is_lost_is_told(tmp_path: Path, damage: str) -> None:
    with connect(tmp_path / "home", base=tmp_path) as mill:
        mill.execute(MADE)
    with connect(tmp_path / "home", base=tmp_path, resumes=True) as mill:
        assert mill.resumed.problems == ()
        mill.execute("ALTER TABLE t RENAME TO u; ALTER STREAM fed RENAME TO put")
    with connect(tmp_path / "home", base=tmp_path, resumes=True) as mill:
        assert mill.resumed.problems == ()
    catalog = tmp_path / "home" / "catalog.db"
    catalog.unlink() if damage == "removed" else catalog.write_bytes(b"")
    with connect(tmp_path / "home", base=tmp_path, resumes=True) as mill:
        in_streams, in_tables = mill.resumed.problems
        assert in_streams.startswith(f"the catalog {catalog} does not know what is in {tmp_path}/home/streams: fed\n")
        assert "/home/tables: t\nhelp: bring the catalog back" in in_tables
        mill.execute(MADE.partition("INSERT")[0] + "DROP STREAM fed; CREATE TABLE t (k INT); DROP TABLE t;")
    with connect(tmp_path / "home", base=tmp_path, resumes=True) as mill:
        assert mill.resumed.problems == ()
