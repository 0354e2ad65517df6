"""Names are data: whatever is in them, a query, a table, a stream and a sink of that name stay in their own places."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.mill import connect

pytestmark = pytest.mark.spark

NAME = '../../victim.é *[x]{a,b} "%2F'


@pytest.mark.usefixtures("spark")
def test_no_name_leaves_the_folder_of_the_mill(tmp_path: Path) -> None:
    home = tmp_path / "home" / "ck"
    for victim in (tmp_path / "home" / NAME.rpartition("/")[2], tmp_path / "home" / "victim"):
        victim.mkdir(parents=True)
        (victim / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    (tmp_path / "in").mkdir()
    name = '"' + NAME.replace('"', '""') + '"'
    for run in (1, 2):
        lines = (f'{{"id": {run}, "ts": "2024-01-01T0{run}:00:{s:02d}"}}\n' for s in (1, 2))
        (tmp_path / "in" / f"{run}.json").write_text("".join(lines))
        with connect(home, base=tmp_path, once=True) as mill:
            mill.execute(
                f"""
                CREATE STREAM {name} (id INT, ts TIMESTAMP) ORDER BY ts SOURCE 'json:in';
                CREATE STREAM pushed{name} (id INT) SOURCE 'tcp:0';
                CREATE TABLE "t{name[1:]} AS SELECT 1 AS a; CREATE TABLE "u{name[1:]} AS SELECT a FROM "t{name[1:]};
                CREATE QUERY {name} AS SELECT count(*) [RANGE 1 MINUTE, WA ts] AS n, id FROM {name}
                  JOIN "u{name[1:]} ON a <= id GROUP BY id;""".replace('pushed"', '"pushed')
            )
            mill.wait()
            assert mill.query(NAME).to_arrow().to_pylist() == [
                {"n": 2, "id": i + 1} for i in range(run)
            ]  # the state goes on
            if run == 2:
                mill.execute(f'DROP QUERY {name}; DROP TABLE "u{name[1:]}; DROP STREAM {name}')
    ours = (home, tmp_path / "in")
    assert [p for p in sorted(tmp_path.rglob("*")) if not any(p == o or o in p.parents for o in ours)] == before
