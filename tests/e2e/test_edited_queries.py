"""A query may be edited between two runs: what keeps the state carries on as if it had been so from the beginning."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

STREAMS = """
CREATE STREAM s (k INT, g STRING, v INT, w DOUBLE, ts TIMESTAMP) ORDER BY ts SLACK 5 SECONDS SOURCE 'csv:s'
  OPTIONS (max_files_per_batch = 1);
CREATE STREAM r (k INT, x STRING, tr TIMESTAMP) ORDER BY tr SLACK 5 SECONDS SOURCE 'csv:r'
  OPTIONS (max_files_per_batch = 1);
"""
EDITS = {
    "windowed": (
        "SELECT k, g, sum(v) [RANGE 10 SECONDS, SLIDE 2 SECONDS, WA ts] AS total, max(w) AS most, window_end AS until"
        " FROM s WHERE v > 1 AND w < 9 GROUP BY k, g HAVING sum(v) > -100",
        "SELECT max(W) [RANGE 10 SECONDS, SLIDE 2 SECONDS] AS most, count(*) AS n, window_end AS until, g, k,"
        " sum(t.v) AS total, sum((V)) + 0 AS again FROM (SELECT w, v, g, k, ts FROM s WHERE 9 > w) AS t WHERE 1 < v"
        " GROUP BY g, k",
    ),
    "counted": (
        "SELECT k, g, max(v) [RANGE 7 ROWS, SLIDE 2 ROWS, PA k, g] AS most, count(w) AS n FROM s",
        "SELECT count(w) [RANGE 7 ROWS, SLIDE 2 ROWS, PA g, k] AS n, g, max(V) AS most, k FROM s AS t",
    ),
    "sessions": (
        "SELECT k, min(v) AS low, string_agg(g, '+') AS names FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts),"
        " INTERVAL '1' SECOND) GROUP BY k",
        "SELECT string_agg(g, '+') AS names, k, min(x.v) AS low FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts),"
        " INTERVAL '1' SECOND) AS x GROUP BY k",
    ),
    "framed": (
        "SELECT v, w, sum(v) OVER (PARTITION BY k, g ROWS 5 PRECEDING) AS a, max(w) OVER (PARTITION BY g RANGE 4"
        " SECONDS PRECEDING) AS b FROM s",
        "SELECT max(W) OVER (PARTITION BY g RANGE 4 SECONDS PRECEDING) AS b, w, v, v + 1 AS more,"
        " sum(V) OVER (PARTITION BY g, k ROWS 5 PRECEDING) AS a FROM (SELECT w, g, k, v, ts FROM s) AS t",
    ),
    "joined": (
        "SELECT s.v, r.x, r.tr AS at FROM s [RANGE 3 SECONDS], r [RANGE 2 SECONDS] WHERE s.k = r.k",
        "SELECT upper(b.x) AS up, b.tr AS at, b.x, a.v FROM s AS a [RANGE 3 SECONDS], r AS b [RANGE 2 SECONDS]"
        " WHERE b.k = a.k",
    ),
    "apart": (
        "SELECT a.v, a.k, b.x FROM s AS a LEFT JOIN r AS b ON a.k = b.k AND a.v > b.k AND b.tr BETWEEN a.ts AND a.ts +"
        " INTERVAL 1 SECOND",
        "SELECT y.x, z.k, z.v FROM s AS z LEFT JOIN r AS y ON y.k = z.k AND y.k < z.v AND y.tr BETWEEN z.ts AND z.ts +"
        " INTERVAL 1 SECOND",
    ),
    "distinct_ones": (
        "SELECT ts, k FROM s UNION SELECT tr, k FROM r",
        "SELECT K AS k, TS AS ts FROM s UNION SELECT k, tr FROM r",
    ),
    "in_order": (
        "SELECT ts, k, g FROM s MERGE ORDERED SELECT tr, k, x FROM r",
        "SELECT g AS g, k AS k, ts AS ts FROM s MERGE ORDERED SELECT x, k, tr FROM r",
    ),
}
BEGIN = datetime(2024, 1, 1)


def feed(base: Path, part: int, rows: int = 120) -> None:
    """A file for each stream, of rows that are out of order by up to four seconds."""
    chance = random.Random(part)
    stamps = [BEGIN + timedelta(milliseconds=(part * rows + i) * 100 + chance.randint(0, 4000)) for i in range(rows)]
    tuples = [
        f"{chance.randint(1, 4)},{chance.choice('ab')},{chance.randint(0, 9)},{chance.randint(0, 40) / 4},{stamp}"
        for stamp in stamps
    ]
    others = [f"{chance.randint(1, 4)},{chance.choice('xyz')},{stamp}" for stamp in stamps[::2]]
    for name, head, lines in (("s", "k,g,v,w,ts", tuples), ("r", "k,x,tr", others)):
        (base / name).mkdir(exist_ok=True)
        hidden = base / name / f".{part}.csv"
        hidden.write_text("\n".join([head, *lines, ""]))
        hidden.rename(base / name / f"{part}.csv")


def rows(mill: Mill, query: str, names: list[str]) -> Counter[tuple[object, ...]]:
    """The rows that a query has given in this process, of these columns."""
    mill.query(query).process_available()
    found = mill.query(query).to_arrow().select(names).to_pylist()
    return Counter(tuple(row.values()) for row in found)


def test_an_edited_query_carries_on_from_its_state(spark: object, tmp_path: Path) -> None:
    feed(tmp_path, 0)
    with connect(tmp_path / "ck", base=tmp_path) as mill:
        mill.execute(STREAMS + "".join(f"CREATE QUERY {name} AS {before};" for name, (before, _) in EDITS.items()))
        columns = {name: mill.query(name).to_arrow().column_names for name in EDITS}
        first = {name: rows(mill, name, columns[name]) for name in EDITS}
    feed(tmp_path, 1)
    with connect(tmp_path / "ck", base=tmp_path) as mill:
        mill.execute(STREAMS)
        with pytest.raises(RunError, match=r"in its window aggregate, the window was \[RANGE 10 seconds, SLIDE 2 sec"):
            mill.execute(f"CREATE QUERY windowed AS {EDITS['windowed'][1].replace('RANGE 10', 'RANGE 12')};")
        # In one text, for some of them share a reading, and go on together.
        again = (f"CREATE QUERY {n} AS {after}; CREATE QUERY whole_{n} AS {after};" for n, (_, after) in EDITS.items())
        mill.execute("".join(again))
        later = {name: rows(mill, name, columns[name]) for name in EDITS}
        whole = {name: rows(mill, f"whole_{name}", columns[name]) for name in EDITS}
    assert all(first.values())
    assert all(later.values())
    assert {name: first[name] + later[name] for name in EDITS} == whole
