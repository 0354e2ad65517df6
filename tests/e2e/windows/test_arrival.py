"""Tuples of one time stamp come in the order in which they arrived: in a log, in a file, and file after file.

So it is whatever the SELECT list is, however the input is cut into batches and buckets, and whoever reads it.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

# (k, x, y) in the order of arrival, three times five of one time each. Values follow no order, NULLs are among them.
ROWS: list[tuple[int, str, int | None, int]] = [
    (second, "abab"[(7 * n) % 4], None if n % 5 == 3 else 100 - 3 * (n * n % 17), n)
    for second, n in ((n // 7, n) for n in range(21))
]
FILES = [ROWS[:4], ROWS[4:5], ROWS[5:13], ROWS[13:]]

QUERIES = {
    "alone": "SELECT n, sum(n) OVER (ROWS 1 PRECEDING) AS r FROM s",
    "beside": "SELECT x, k, n, sum(n) OVER (ROWS 1 PRECEDING) AS r FROM s",
    "parts": """SELECT n, first(n) OVER (PARTITION BY k ROWS 2 PRECEDING) AS r, last(n) OVER (ROWS 3 PRECEDING) AS q
                FROM (SELECT k, n, ts FROM s WHERE n <> 6)""",
    "grouped": """SELECT k, first(n) [RANGE 2 SECONDS] AS n, first(x) AS x, last(n) AS m, last(x) AS y,
                  array_agg(n) AS ns, max_by(n, k) AS o FROM s GROUP BY k""",
    "joined": """SELECT n, sum(n) OVER (ROWS 1 PRECEDING) AS r FROM s JOIN names ON s.k = names.k""",
    "union_": """SELECT n, sum(n) OVER (ROWS 1 PRECEDING) AS r
                 FROM (SELECT n, ts FROM s UNION ALL SELECT n + 100 AS n, ts FROM s)""",
    "bodies": "SELECT k, latest(n) [RANGE 2 SECONDS] AS r FROM s GROUP BY k",
    "rows": "SELECT k, first(n) [RANGE 3 ROWS, SLIDE 3 ROWS] AS r, last(n) AS q FROM s GROUP BY k",
}


PAIRS = """SELECT first(n) [RANGE 2 SECONDS, WA ts] AS n, first(m) AS m
           FROM (SELECT a.ts AS ts, a.n AS n, 1000 - b.n AS m FROM s AS a [RANGE 1 SECOND, WA ts], s AS b
                 WHERE a.n = b.n)"""

LATEST = """CREATE AGGREGATE latest (x INT) : INT {
  TABLE seen (v INT);
  INITIALIZE: { INSERT INTO seen VALUES (x); }
  ITERATE: { UPDATE seen SET v = x; }
  TERMINATE: { INSERT INTO RETURN SELECT v FROM seen; }
};"""


def expected() -> dict[str, list[tuple[Any, ...]]]:
    """What follows from the order of arrival."""
    ns = [n for *_, n in ROWS]
    pairs = [(n, n + (ns[i - 1] if i else 0)) for i, n in enumerate(ns)]
    found: dict[str, list[tuple[Any, ...]]] = {
        "alone": pairs,
        "beside": [(x, k, n, r) for (_, k, x, n), (_, r) in zip(ROWS, pairs, strict=True)],
        "joined": pairs,
    }
    some = [row for row in ROWS if row[-1] != 6]
    found["parts"] = []
    for i, (_, k, _, n) in enumerate(some):
        own = [r[-1] for r in some[: i + 1] if r[1] == k]
        found["parts"].append((n, own[-3:][0], n))
    found["grouped"] = []
    for window in range(2):
        for key in sorted({k for _, k, _, _ in ROWS}):
            mine = [(x, n) for second, k, x, n in ROWS if second // 2 == window and k == key]
            ends = (mine[0][1], mine[0][0], mine[-1][1], mine[-1][0])
            found["grouped"].append((key, *ends, tuple(n for _, n in mine), mine[-1][1]))
    found["bodies"] = [(row[0], row[3]) for row in found["grouped"]]
    both = sorted((second, part, n + 100 * part) for part in range(2) for second, _, _, n in ROWS)
    found["union_"] = [(n, n + (both[i - 1][-1] if i else 0)) for i, (_, _, n) in enumerate(both)]
    found["rows"] = []
    for begin in range(0, len(ROWS), 3):
        for key in sorted({k for _, k, _, _ in ROWS[begin : begin + 3]}):
            mine_ = [n for _, k, _, n in ROWS[begin : begin + 3] if k == key]
            found["rows"].append((key, mine_[0], mine_[-1]))
    return found


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = [tuple(tuple(v) if isinstance(v, list) else v for v in row.values()) for row in table.to_pylist()]
    return sorted(rows, key=repr)


def write(folder: Path, kind: str, moments: tuple[int, ...]) -> None:
    """The files; some are older than their names say, and names decide between those of one moment and one batch."""
    folder.mkdir()
    for name, rows, written in zip(("z", "b", "c d", "a"), FILES, moments, strict=True):
        path = folder / f"{name}.{kind}"
        texts = [(f"2024-01-01T00:00:0{second}", k, x, n) for second, k, x, n in rows]
        if kind == "csv":
            lines = ["ts,k,x,n", *(",".join("" if v is None else str(v) for v in row) for row in texts)]
            path.write_text("\n".join(lines) + "\n")
        else:
            stamps = pa.array(
                [1704067200_000_000 + second * 1_000_000 for second, *_ in rows], pa.timestamp("us", "UTC")
            )
            columns = [
                stamps,
                *(pa.array([r[i] for r in rows], t) for i, t in ((1, pa.string()), (2, pa.int32()), (3, pa.int32()))),
            ]
            pq.write_table(pa.table(columns, names=["ts", "k", "x", "n"]), path)
        moment = 1_700_000_000 + written
        os.utime(path, (moment, moment))


CASES = {
    "csv, file by file": ("csv", "OPTIONS (max_files_per_batch = 1)", "SET buckets = 1;"),
    "csv, at once": ("csv", "", "SET buckets = 3;"),
    "csv, whole files": ("csv", "OPTIONS (multiline = true)", ""),
    "parquet, read by the stage": ("parquet", "", "SET buckets = 2;"),
    "parquet, read by Spark": (
        "parquet",
        "OPTIONS (max_files_per_batch = 3)",
        "SET reader = 'spark'; SET buckets = 2;",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_ties_follow_the_arrival(spark: object, tmp_path: Path, case: str) -> None:
    kind, options, settings = CASES[case]
    write(tmp_path / "in", kind, (10, 20, 21, 30) if options else (10, 20, 20, 30))
    (tmp_path / "names.csv").write_text("k,name\na,ann\nb,bob\n")
    with connect(base=tmp_path, once=True) as mill:
        columns = "ts TIMESTAMP, k STRING, x INT, n INT"
        mill.execute(f"""{settings} {LATEST}
            CREATE STREAM s ({columns}) ORDER BY ts SOURCE '{kind}:in' {options};
            CREATE TABLE stored ({columns}) SOURCE '{kind}:in';
            CREATE TABLE names (k STRING, name STRING) SOURCE 'csv:names.csv';""")
        # Records of several lines cannot be read twice by one query.
        queries = {n: q for n, q in QUERIES.items() if n != "union_" or "multiline" not in options}
        if "multiline" not in options:
            mill.execute(f"CREATE QUERY pairs AS {PAIRS}")
        for name, text in queries.items():
            mill.execute(f"CREATE QUERY {name} AS {text}")
        mill.wait()
        wanted = expected()
        for name in queries:
            assert plain(mill.query(name).to_arrow()) == sorted(wanted[name], key=repr), name

        # Pairs have no arrival, and yet one of them is chosen.
        if "multiline" not in options:
            pairs = mill.query("pairs").to_arrow().to_pylist()
            assert [row["n"] + row["m"] for row in pairs] == [1000, 1000]

        (over_table,) = mill.execute("SELECT n, sum(n) OVER (ORDER BY ts ROWS 1 PRECEDING) AS r FROM stored;")
        assert over_table.table is not None
        assert plain(over_table.table) == sorted(wanted["alone"], key=repr)


def test_what_is_pushed_in_one_burst_comes_as_it_was_pushed(live_mill: Mill) -> None:
    """With a time stamp of arrival, which all of it shares, and without any."""
    live_mill.execute("""
        CREATE STREAM stamped (n INT, current_time TIMESTAMP) ORDER BY current_time
          SOURCE 'tcp:0' OPTIONS (format = 'csv');
        CREATE STREAM latent (n INT) SOURCE 'tcp:0' OPTIONS (format = 'csv');
        CREATE QUERY a AS SELECT n, array_agg(n) OVER (ROWS 4 PRECEDING) AS ns FROM stamped;
        CREATE QUERY b AS SELECT n, array_agg(n) OVER (ROWS 4 PRECEDING) AS ns FROM latent;
    """)
    for stream in ("stamped", "latent"):
        with socket.create_connection(("127.0.0.1", live_mill.listeners[stream].port)) as producer:
            producer.sendall(b"5\n4\n3\n2\n1\n")
            producer.shutdown(socket.SHUT_WR)
            assert producer.recv(1024).endswith(b"OK 5\n")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(live_mill.query(q).to_arrow().num_rows < 5 for q in "ab"):
        time.sleep(0.05)
    for name in "ab":
        answers = {row["n"]: row["ns"] for row in live_mill.query(name).to_arrow().to_pylist()}
        assert answers == {5 - i: [5, 4, 3, 2, 1][: i + 1] for i in range(5)}
