"""One reading that feeds several sinks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (k INT, v INT, ts TIMESTAMP) ORDER BY ts SOURCE 'csv:in';"


@pytest.fixture
def rows(tmp_path: Path) -> list[tuple[int, int]]:
    made = [(n % 3, n) for n in range(30)]
    (tmp_path / "in").mkdir()
    for part in range(3):
        lines = [f"{k},{v},2024-01-01T00:00:{v:02d}" for k, v in made[10 * part : 10 * part + 10]]
        (tmp_path / "in" / f"{part}.csv").write_text("\n".join(["k,v,ts", *lines, ""]))
    return made


def read(folder: Path) -> list[tuple[int, ...]]:
    files = sorted(folder.glob("[!._]*.json"))
    return sorted(tuple(json.loads(line).values()) for file in files for line in file.read_text().splitlines())


def test_each_sink_gets_its_rows_and_columns(
    run: Callable[[str], Mill], tmp_path: Path, rows: list[tuple[int, int]]
) -> None:
    mill = run(f"""{STREAM}
        CREATE SINK few TO 'json:out/few'; CREATE SINK one TO 'csv:out/one.csv'; CREATE SINK rest TO 'json:out/rest';
        FROM s INSERT INTO few SELECT k, v * 2 AS twice WHERE v < 10
               INSERT INTO one SELECT v WHERE k = 1
               INSERT INTO rest SELECT v, k;""")
    assert read(tmp_path / "out" / "few") == sorted((k, 2 * v) for k, v in rows if v < 10)
    assert read(tmp_path / "out" / "rest") == sorted((v, k) for k, v in rows)
    lines = (tmp_path / "out" / "one.csv").read_text().splitlines()
    assert lines[0] == "v"
    assert sorted(map(int, lines[1:])) == sorted(v for k, v in rows if k == 1)
    (query,) = mill.queries
    assert (query.name, query.counts.rows_in, query.counts.rows_out) == ("few", 30, 10 + 10 + 30)


def test_sinks_of_a_join_have_conditions_of_their_own(
    run: Callable[[str], Mill], tmp_path: Path, rows: list[tuple[int, int]]
) -> None:
    run(f"""{STREAM} CREATE SINK few TO 'json:out/few'; CREATE SINK many TO 'json:out/many';
        FROM s AS a [RANGE 0 SECONDS] JOIN s AS b ON a.k = b.k
        INSERT INTO few SELECT a.v WHERE a.v < 5 AND b.v > 1 INSERT INTO many SELECT a.v WHERE a.v < 20;""")
    for name, wanted in (("few", (2, 3, 4)), ("many", range(20))):
        assert read(tmp_path / "out" / name) == [(v,) for v in wanted]


def test_windows_are_computed_once_for_all(
    run: Callable[[str], Mill], tmp_path: Path, rows: list[tuple[int, int]]
) -> None:
    run(f"""{STREAM} CREATE SINK short TO 'json:out/short'; CREATE SINK long TO 'json:out/long';
        FROM (SELECT 5 AS seconds, k, sum(v) [RANGE 5 SECONDS, WA ts] AS total FROM s GROUP BY k
              UNION ALL SELECT 10, k, sum(v) [RANGE 10 SECONDS, WA ts] FROM s GROUP BY k) w
        INSERT INTO short SELECT k, w.total WHERE seconds = 5 INSERT INTO long SELECT k, total WHERE seconds = 10;""")
    for name, seconds in (("short", 5), ("long", 10)):
        wanted: dict[tuple[int, int], int] = {}
        for k, v in rows:
            wanted[k, v // seconds] = wanted.get((k, v // seconds), 0) + v
        assert read(tmp_path / "out" / name) == sorted((k, total) for (k, _), total in wanted.items())


def test_what_was_split_stays_split_after_a_restart(tmp_path: Path, rows: list[tuple[int, int]], spark: object) -> None:
    text = f"""{STREAM} CREATE SINK low TO 'json:out/low'; CREATE SINK high TO 'csv:out/high.csv';
        FROM s INSERT INTO low SELECT v WHERE v < 12 INSERT INTO high SELECT v WHERE v >= 12;"""
    later = tmp_path / "later.csv"
    (tmp_path / "in" / "2.csv").rename(later)
    for _ in range(2):
        with connect(tmp_path / "checkpoint", base=tmp_path, once=True, master="local[2]") as mill:
            mill.execute(text)
            mill.wait()
        if later.exists():
            later.rename(tmp_path / "in" / "2.csv")
    assert read(tmp_path / "out" / "low") == [(v,) for v in range(12)]
    assert sorted(map(int, (tmp_path / "out" / "high.csv").read_text().split()[1:])) == list(range(12, 30))


def test_a_sink_is_in_use_as_long_as_a_split_feeds_it(run: Callable[[str], Mill], rows: object) -> None:
    mill = run(f"""{STREAM} CREATE SINK a TO 'json:out/a'; CREATE SINK b TO 'json:out/b';
        FROM s INSERT INTO a SELECT k INSERT INTO b SELECT v;""")
    with pytest.raises(Exception, match="b is still used by a"):
        mill.execute("DROP SINK b;")
    (answer,) = mill.execute("EXPLAIN a;")
    assert answer.text is not None
    assert answer.text.startswith("Split a, b\n└─ ")
