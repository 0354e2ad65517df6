"""Joins and unions on Spark, as streams in files and as stored tables: the rows that DuckDB gives."""

from __future__ import annotations

import os
import random
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from millstream.mill import Mill, connect
from tests.e2e.windows.test_windows import Rows, answers, plain

pytestmark = pytest.mark.spark

BEGIN = datetime(2024, 1, 1)
COLUMNS = "{'ts': 'TIMESTAMP', 'k': 'INTEGER', 'v': 'INTEGER'}"

STREAMS = """
    CREATE STREAM a (ts TIMESTAMP, k INT, v INT) ORDER BY ts SLACK 3 SECONDS
      SOURCE 'csv:a' OPTIONS (max_files_per_batch = 1);
    CREATE STREAM b (ts TIMESTAMP, k BIGINT, w INT) ORDER BY ts SLACK 3 SECONDS
      SOURCE 'csv:b' OPTIONS (max_files_per_batch = 1);
    CREATE TABLE names (k INT, name STRING) SOURCE 'csv:names.csv';
"""
TABLES = """
    CREATE TABLE sa (ts TIMESTAMP, k INT, v INT) SOURCE 'csv:a.csv';
    CREATE TABLE sb (ts TIMESTAMP, k BIGINT, w INT) SOURCE 'csv:b.csv';
"""
BAND = "b.ts BETWEEN a.ts - INTERVAL 2 SECOND AND a.ts + INTERVAL 3 SECOND"

KINDS = {
    "inner_comma": (
        "SELECT a.ts, b.ts AS other, v, w FROM {a} AS a [RANGE 3 SECONDS, WA ts], {b} AS b [RANGE 2 SECONDS, WA ts] "
        "WHERE a.k = b.k AND v > 3 AND w <> v",
        f"SELECT a.ts, b.ts, v, w FROM a JOIN b ON a.k = b.k AND {BAND} WHERE v > 3 AND w <> v",
    ),
    "left_interval": (
        "SELECT a.ts, b.ts AS other, v, w FROM {a} AS a [RANGE 3 SECONDS, WA ts] LEFT JOIN {b} AS b "
        "[RANGE 2 SECONDS, WA ts] ON a.k = b.k AND w > 5",
        f"SELECT a.ts, b.ts, v, w FROM a LEFT JOIN b ON a.k = b.k AND {BAND} AND w > 5",
    ),
    "right_residual": (
        "SELECT a.ts, b.ts AS other, v, w FROM {a} AS a [RANGE 3 SECONDS, WA ts] RIGHT JOIN {b} AS b "
        "[RANGE 2 SECONDS, WA ts] ON a.k = b.k AND v + 1 < w",
        f"SELECT a.ts, b.ts, v, w FROM a RIGHT JOIN b ON a.k = b.k AND {BAND} AND v + 1 < w",
    ),
    "full": (
        "SELECT a.ts, b.ts AS other, v, w FROM {a} AS a [RANGE 3 SECONDS, WA ts] FULL JOIN {b} AS b "
        "[RANGE 2 SECONDS, WA ts] ON a.k = b.k",
        f"SELECT a.ts, b.ts, v, w FROM a FULL JOIN b ON a.k = b.k AND {BAND}",
    ),
    "exists": (
        "SELECT ts, v FROM {a} AS a [RANGE 3 SECONDS, WA ts] "
        "WHERE EXISTS (SELECT 1 FROM {b} AS b [RANGE 2 SECONDS, WA ts] WHERE b.k = a.k AND w > v)",
        f"SELECT ts, v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND w > v AND {BAND})",
    ),
    "not_exists": (
        "SELECT ts, v FROM {a} AS a [RANGE 3 SECONDS, WA ts] "
        "WHERE NOT EXISTS (SELECT 1 FROM {b} AS b [RANGE 2 SECONDS, WA ts] WHERE b.k = a.k)",
        f"SELECT ts, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {BAND})",
    ),
    "in_window": (
        "SELECT ts, v FROM {a} AS a [RANGE 3 SECONDS, WA ts] WHERE k IN (SELECT k FROM {b} AS b "
        "[RANGE 2 SECONDS, WA ts])",
        f"SELECT ts, v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {BAND})",
    ),
    "tumbling": (
        "SELECT v, w FROM {a} AS a, {b} AS b [RANGE TUMBLING 4 SECONDS, WA ts] WHERE a.k = b.k",
        "SELECT v, w FROM a JOIN b ON a.k = b.k AND time_bucket(INTERVAL 4 SECOND, a.ts) = "
        "time_bucket(INTERVAL 4 SECOND, b.ts)",
    ),
    "band_only": (
        "SELECT v, w FROM {a} AS a JOIN {b} AS b ON b.ts > a.ts AND b.ts <= a.ts + INTERVAL '1' SECOND",
        "SELECT v, w FROM a JOIN b ON b.ts > a.ts AND b.ts <= a.ts + INTERVAL 1 SECOND",
    ),
    "itself": (
        "SELECT x.v, y.v AS v2 FROM {a} AS x [RANGE 2 SECONDS, WA ts], {a} AS y WHERE x.k = y.k AND x.ts < y.ts",
        "SELECT x.v, y.v FROM a AS x JOIN a AS y ON x.k = y.k AND y.ts > x.ts AND y.ts <= x.ts + INTERVAL 2 SECOND",
    ),
    "three": (
        "SELECT a.v, b.w, c.v AS v3 FROM {a} AS a [RANGE 2 SECONDS, WA ts], {b} AS b [RANGE 2 SECONDS, WA ts], "
        "{a} AS c [RANGE 1 SECOND, WA ts] WHERE a.k = b.k AND b.k = c.k",
        """SELECT a.v, b.w, c.v FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 2 SECOND AND a.ts +
           INTERVAL 2 SECOND JOIN a AS c ON c.k = b.k AND c.ts BETWEEN a.ts - INTERVAL 1 SECOND AND a.ts + INTERVAL 2
           SECOND AND c.ts BETWEEN b.ts - INTERVAL 1 SECOND AND b.ts + INTERVAL 2 SECOND""",
    ),
    "window_on_top": (
        """SELECT window_end, k, count(*) [RANGE 5 SECONDS, WA t] AS n, sum(w) AS total
           FROM (SELECT b.ts AS t, a.k AS k, w FROM {a} AS a [RANGE 3 SECONDS, WA ts], {b} AS b [RANGE 2 SECONDS, WA ts]
                 WHERE a.k = b.k) AS j GROUP BY k""",
        f"""SELECT time_bucket(INTERVAL 5 SECOND, b.ts) + INTERVAL 5 SECOND AS e, a.k, count(*), sum(w)
            FROM a JOIN b ON a.k = b.k AND {BAND} GROUP BY e, a.k""",
    ),
    "joint_window_on_top": (
        """SELECT window_end, count(*) [RANGE 5 SECONDS, WA t] AS n
           FROM (SELECT greatest(a.ts, b.ts) AS t FROM {a} AS a [RANGE 3 SECONDS, WA ts], {b} AS b [RANGE 2 SECONDS,
           WA ts] WHERE a.k = b.k) AS j""",
        f"""SELECT time_bucket(INTERVAL 5 SECOND, greatest(a.ts, b.ts)) + INTERVAL 5 SECOND AS e, count(*)
            FROM a JOIN b ON a.k = b.k AND {BAND} GROUP BY e""",
    ),
    "united": (
        """SELECT window_end, count(*) [RANGE 5 SECONDS, WA ts] AS n, sum(v) AS total
           FROM (SELECT ts, v FROM {a} UNION ALL SELECT ts, w FROM {b} WHERE w > 2) AS u""",
        """SELECT time_bucket(INTERVAL 5 SECOND, ts) + INTERVAL 5 SECOND AS e, count(*), sum(v)
           FROM (SELECT ts, v FROM a UNION ALL SELECT ts, w FROM b WHERE w > 2) GROUP BY e""",
    ),
    "unique": (
        "SELECT date_trunc('second', ts) AS s, ts, v % 2 AS odd FROM {a} UNION "
        "SELECT date_trunc('second', ts), ts, w % 2 FROM {b}",
        "SELECT date_trunc('second', ts), ts, v % 2 FROM a UNION SELECT date_trunc('second', ts), ts, w % 2 FROM b",
    ),
    "merged": (
        "SELECT ts, k FROM {a} MERGE ORDERED SELECT ts, k FROM {b}",
        "SELECT ts, k FROM a UNION ALL SELECT ts, k FROM b",
    ),
    "with_table": (
        "SELECT ts, v, name FROM {a} AS a LEFT JOIN names AS n ON a.k = n.k",
        "SELECT ts, v, name FROM a LEFT JOIN names AS n ON a.k = n.k",
    ),
    "window_over_table_join": (
        """SELECT window_end, name, count(*) [RANGE 5 SECONDS, WA ts] AS n
           FROM {a} AS a JOIN names AS n USING (k) GROUP BY name""",
        """SELECT time_bucket(INTERVAL 5 SECOND, ts) + INTERVAL 5 SECOND AS e, name, count(*)
           FROM a JOIN names USING (k) GROUP BY e, name""",
    ),
    "window_over_table_semi": (
        """SELECT window_end, count(*) [RANGE 5 SECONDS, WA ts] AS n FROM {a} AS a
           WHERE k IN (SELECT k FROM names WHERE name > 'n2')""",
        """SELECT time_bucket(INTERVAL 5 SECOND, ts) + INTERVAL 5 SECOND AS e, count(*)
           FROM a WHERE k IN (SELECT k FROM names WHERE name > 'n2') GROUP BY e""",
    ),
    "windows_of_tuples": (
        """SELECT h.ts, v, name, window_start, h.window_end FROM HOP(TABLE {a}, DESCRIPTOR(ts), INTERVAL '2' SECOND,
           INTERVAL '5' SECOND) AS h JOIN names AS n ON h.k = n.k AND h.window_start < h.ts
           WHERE h.k IN (SELECT k FROM names WHERE name > 'n2') AND window_end > h.ts + INTERVAL '1' SECOND""",
        """SELECT ts, v, name, s, s + INTERVAL 5 SECOND FROM a JOIN names USING (k), UNNEST(range(
           time_bucket(INTERVAL 2 SECOND, ts) - INTERVAL 4 SECOND, ts + INTERVAL 1 MICROSECOND, INTERVAL 2 SECOND))
           AS w(s) WHERE name > 'n2' AND s < ts AND s + INTERVAL 5 SECOND > ts + INTERVAL 1 SECOND""",
    ),
    "windows_of_groups": (
        """SELECT h.window_end, name, count(*) AS n FROM TUMBLE(TABLE {a}, DESCRIPTOR(ts), INTERVAL '5' SECOND) AS h
           LEFT JOIN names AS n ON h.k = n.k WHERE v IN (SELECT k FROM names) GROUP BY name, window_start, h.window_end
        """,
        """SELECT time_bucket(INTERVAL 5 SECOND, ts) + INTERVAL 5 SECOND AS e, name, count(*)
           FROM a LEFT JOIN names USING (k) WHERE v IN (SELECT k FROM names) GROUP BY e, name""",
    ),
    "distinct": (
        "SELECT DISTINCT k, window_end FROM TUMBLE(TABLE {a}, DESCRIPTOR(ts), INTERVAL '5' SECOND)",
        "SELECT DISTINCT k, time_bucket(INTERVAL 5 SECOND, ts) + INTERVAL 5 SECOND FROM a",
    ),
}


def feed(folder: Path, files: int = 3, rows: int = 300) -> None:
    """Two inputs, out of order by up to 2 s, in files of rising age; and once more each in one file for DuckDB."""
    for name, column, seed in (("a", "v", 1), ("b", "w", 2)):
        chance = random.Random(seed)
        lines = []
        for i in range(rows):
            stamp = BEGIN + timedelta(milliseconds=i * 50)
            key = "" if chance.random() < 0.05 else str(chance.randint(0, 7))
            lines.append((i * 50 + chance.randint(0, 2000), f"{stamp.isoformat()},{key},{chance.randint(0, 9)}"))
        arrived = [line for _, line in sorted(lines)]
        (folder / name).mkdir()
        for number in range(files):
            part = arrived[number * rows // files : (number + 1) * rows // files]
            file = folder / name / f"{number}.csv"
            file.write_text(f"ts,k,{column}\n" + "\n".join(part) + "\n")
            os.utime(file, (1e9 + number, 1e9 + number))  # Spark takes files by age
        (folder / f"{name}.csv").write_text(f"ts,k,{column}\n" + "\n".join(arrived) + "\n")
    (folder / "names.csv").write_text("k,name\n" + "".join(f"{k},n{k}\n" for k in (0, 2, 3, 5)))


def expected(folder: Path, select: str) -> Rows:
    with duckdb.connect() as db:
        for name, column in (("a", "v"), ("b", "w")):
            columns = COLUMNS.replace("'v'", f"'{column}'")
            db.execute(f"CREATE VIEW {name} AS SELECT * FROM read_csv('{folder}/{name}.csv', columns={columns})")
        db.execute(f"CREATE VIEW names AS SELECT * FROM read_csv('{folder}/names.csv')")
        return plain(db.execute(select).fetchall())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kinds", [list(KINDS)[i::4] for i in range(4)], ids="-".join)
def test_every_kind_equals_duckdb_as_streams_and_as_tables(tmp_path: Path, kinds: list[str]) -> None:
    feed(tmp_path)
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(STREAMS + TABLES)
        for kind in kinds:
            mill.execute(f"CREATE QUERY {kind} AS {KINDS[kind][0].format(a='a', b='b')}")
        mill.wait()
        for kind in kinds:
            wanted = expected(tmp_path, KINDS[kind][1])
            assert answers(mill, kind) == wanted, kind
            assert set(mill.query(kind).counts.late.values()) <= {0}, kind
            if kind != "merged":  # tables have no order of arrival
                assert stored(mill, KINDS[kind][0].format(a="sa", b="sb")) == wanted, f"{kind} over tables"


def stored(mill: Mill, select: str) -> Rows:
    table = mill.execute(select)[-1].table
    assert table is not None
    return plain([tuple(r.values()) for r in table.to_pylist()])


@pytest.mark.usefixtures("spark")
def test_a_merge_is_in_order_however_its_inputs_come(tmp_path: Path) -> None:
    feed(tmp_path)
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(f"{STREAMS} CREATE QUERY merged AS {KINDS['merged'][0].format(a='a', b='b')}")
        mill.wait()
        times = mill.query("merged").to_arrow()["ts"].to_pylist()
        assert len(times) == 600
        assert times == sorted(times)
