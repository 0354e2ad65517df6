"""Every kind of window on Spark, as a stream in files and as a stored table: the rows that DuckDB gives."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from millstream.mill import connect
from tests.e2e.windows.test_windows import STREAM, Rows, answers, feed, plain

pytestmark = pytest.mark.spark

COLUMNS = "{'ts': 'TIMESTAMP', 'k': 'VARCHAR', 'v': 'INTEGER'}"

KINDS = {
    "landmark": (
        """SELECT k, window_start, window_end, count(*) [RANGE ALL, SLIDE 20 SECONDS, WA ts] AS n, max(v) AS high
           FROM {s} GROUP BY k""",
        """SELECT k, NULL, e, count(*), max(v) FROM s,
           (SELECT unnest(range(TIMESTAMP '2024-01-01 00:00:20', TIMESTAMP '2024-01-01 00:02:00',
                                INTERVAL 20 SECOND)) AS e) AS windows WHERE ts < e GROUP BY k, e""",
    ),
    "from_first": (
        """SELECT k, window_start, window_end, sum(v) [RANGE 15 SECONDS, SLIDE 5 SECONDS, WA ts, ORIGIN FIRST] AS total
           FROM {s} WHERE ts > '2024-01-01T00:00:02' GROUP BY k""",
        """SELECT k, w, w + INTERVAL 15 SECOND, sum(v) FROM s, (SELECT unnest(range(
             (SELECT min(ts) FROM s WHERE ts > '2024-01-01T00:00:02') - INTERVAL 10 SECOND,
             TIMESTAMP '2024-01-01 00:05:00', INTERVAL 5 SECOND)) AS w) AS windows
           WHERE ts >= w AND ts < w + INTERVAL 15 SECOND AND ts > '2024-01-01T00:00:02' GROUP BY k, w""",
    ),
    "session": (
        """SELECT k, window_start, window_end, count(*) AS n, sum(v) AS total
           FROM SESSION(TABLE {s} PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' SECOND)
           GROUP BY k, window_start, window_end""",
        """WITH opened AS (SELECT *, ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) < INTERVAL 1 SECOND AS goes_on
                           FROM s),
           numbered AS (SELECT *, sum((NOT coalesce(goes_on, false))::INT) OVER (PARTITION BY k ORDER BY ts) AS nth
                        FROM opened)
           SELECT k, min(ts), max(ts) + INTERVAL 1 SECOND, count(*), sum(v) FROM numbered GROUP BY k, nth""",
    ),
    "rows": (
        """SELECT k, window_start, window_end, count(*) [RANGE 7 ROWS, SLIDE 3 ROWS, PA k, WA ts] AS n, sum(v) AS total
           FROM {s}""",
        """WITH ranked AS (SELECT *, row_number() OVER (PARTITION BY k ORDER BY ts) - 1 AS r,
                                  count(*) OVER (PARTITION BY k) AS size FROM s)
           SELECT k, min(ts), max(ts), count(*), sum(v)
           FROM ranked, (SELECT unnest(range(0, 300)) AS i) AS windows
           WHERE r >= (i + 1) * 3 - 7 AND r < (i + 1) * 3 AND (i + 1) * 3 <= size GROUP BY k, i""",
    ),
    "all_rows": (
        """SELECT k, window_end, min(v) [RANGE 50 ROWS, SLIDE 50 ROWS, WA ts] AS low FROM {s} GROUP BY k""",
        """WITH ranked AS (SELECT *, (row_number() OVER (ORDER BY ts) - 1) // 50 AS i FROM s),
           ends AS (SELECT i, max(ts) AS e FROM ranked GROUP BY i)
           SELECT k, e, min(v) FROM ranked JOIN ends USING (i) GROUP BY k, e""",
    ),
    "slide_by_tuple": (
        """SELECT window_start, window_end,
                  count(*) [RANGE 4 SECONDS, RATTR ts, SLIDE 25 ROWS, SATTR rank(ts)] AS n, max(v) AS high FROM {s}""",
        """WITH ends AS (SELECT ts AS e FROM (SELECT ts, row_number() OVER (ORDER BY ts) AS r FROM s) WHERE r % 25 = 0)
           SELECT e - INTERVAL 4 SECOND, e, count(*), max(v) FROM ends JOIN s
           ON ts > e - INTERVAL 4 SECOND AND ts <= e GROUP BY e""",
    ),
    "over": (
        """SELECT ts, k, v * 2 AS twice,
                  sum(v) OVER (PARTITION BY k ORDER BY ts RANGE 5 SECONDS PRECEDING) AS near,
                  max(v) OVER (PARTITION BY k ORDER BY ts ROWS 9 PRECEDING) - v AS below,
                  avg(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS mean,
                  count(*) FILTER (WHERE v > 0) OVER (ORDER BY ts ROWS 99 PRECEDING) AS positive
           FROM {s} WHERE k <> 'e'""",
        """SELECT ts, k, v * 2,
                  sum(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 5 SECOND PRECEDING AND CURRENT ROW),
                  max(v) OVER (PARTITION BY k ORDER BY ts ROWS 9 PRECEDING) - v,
                  avg(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
                  count(*) FILTER (WHERE v > 0) OVER (ORDER BY ts ROWS 99 PRECEDING)
           FROM s WHERE k <> 'e'""",
    ),
    "over_slide": (
        """SELECT k, ts, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS 19 PRECEDING SLIDE 10) AS total FROM {s}""",
        """SELECT k, ts, total FROM (SELECT k, ts, sum(v) OVER w AS total, row_number() OVER w AS r FROM s
             WINDOW w AS (PARTITION BY k ORDER BY ts ROWS 19 PRECEDING)) WHERE r % 10 = 0""",
    ),
    "holistic": (
        """SELECT k, window_end, median(v) [RANGE 20 SECONDS, SLIDE 10 SECONDS, WA ts] AS m, quantile(v, 0.9) AS q,
                  count(DISTINCT v) AS d, string_agg(k, ';') AS s, min_by(v, ts) AS oldest
           FROM {s} WHERE v IS NOT NULL GROUP BY k""",
        """SELECT k, w + INTERVAL 20 SECOND, median(v), quantile_cont(v, 0.9), count(DISTINCT v), string_agg(k, ';'),
                  min_by(v, ts)
           FROM s, (SELECT unnest(range(TIMESTAMP '2023-12-31 23:59:50', TIMESTAMP '2024-01-01 00:05:00',
                                        INTERVAL 10 SECOND)) AS w) AS windows
           WHERE ts >= w AND ts < w + INTERVAL 20 SECOND AND v IS NOT NULL GROUP BY k, w""",
    ),
    "two_stages": (
        """SELECT k, window_start, window_end, max(n) [RANGE 30 SECONDS, SLIDE 30 SECONDS, WA window_end] AS busiest,
                  count(*) AS answers
           FROM (SELECT k, window_end, count(*) [RANGE 5 SECONDS, WA ts] AS n FROM {s} GROUP BY k HAVING count(*) > 2)
           GROUP BY k""",
        """WITH counted AS (SELECT k, time_bucket(INTERVAL 5 SECOND, ts) AS w, count(*) AS n FROM s GROUP BY ALL
                            HAVING count(*) > 2)
           SELECT k, time_bucket(INTERVAL 30 SECOND, w) AS o, o + INTERVAL 30 SECOND, max(n), count(*)
           FROM counted GROUP BY k, o""",
    ),
    "over_an_aggregate": (
        """SELECT k, w, n - avg(n) OVER (PARTITION BY k ORDER BY w ROWS 2 PRECEDING) AS jump
           FROM (SELECT k, window_end AS w, count(*) [RANGE 5 SECONDS, WA ts] AS n FROM {s} GROUP BY k)""",
        """WITH counted AS (SELECT k, time_bucket(INTERVAL 5 SECOND, ts) + INTERVAL 5 SECOND AS w, count(*) AS n
                            FROM s GROUP BY ALL)
           SELECT k, w, n - avg(n) OVER (PARTITION BY k ORDER BY w ROWS 2 PRECEDING) FROM counted""",
    ),
}


def expected(file: Path, select: str) -> Rows:
    with duckdb.connect() as db:
        db.execute(f"CREATE VIEW s AS SELECT * FROM read_csv('{file}', header=true, columns={COLUMNS})")
        return plain(db.execute(select).fetchall())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kinds", [list(KINDS)[i::3] for i in range(3)], ids="-".join)
def test_every_kind_equals_duckdb_as_a_stream_and_as_a_table(tmp_path: Path, kinds: list[str]) -> None:
    file = feed(tmp_path, files=4)
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(f"{STREAM} CREATE TABLE stored (ts TIMESTAMP, k STRING, v INT) SOURCE 'csv:all.csv';")
        for kind in kinds:
            mill.execute(f"CREATE QUERY {kind} AS {KINDS[kind][0].format(s='s')}")
        mill.wait()
        for kind in kinds:
            wanted = expected(file, KINDS[kind][1])
            assert answers(mill, kind) == wanted, kind
            assert set(mill.query(kind).counts.late.values()) <= {0}, kind
            stored = mill.execute(KINDS[kind][0].format(s="stored"))[-1].table
            assert stored is not None
            assert plain([tuple(r.values()) for r in stored.to_pylist()]) == wanted, f"{kind} over a table"
