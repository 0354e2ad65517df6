"""Parquet as pandas writes it: time stamps in nanoseconds, which Spark cannot read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.mill import Mill

pytestmark = pytest.mark.spark

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def from_pandas(file: Path) -> None:
    stamps = pd.to_datetime(["2024-01-01T00:00:01.000000999", "1969-12-31T23:59:59.999999999"]).astype("M8[ns]")
    pd.DataFrame({"id": pd.Series([1, 2], dtype="int32"), "ts": stamps}).to_parquet(file)


def plain(file: Path) -> None:
    stamps = pa.array([BEGIN + 3 * SECOND], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"id": pa.array([3], pa.int32()), "ts": stamps}), file)


EXPECTED = [(1, BEGIN + SECOND), (2, datetime(1970, 1, 1, tzinfo=UTC) - timedelta(microseconds=1))]


def test_nanoseconds_are_cut_to_microseconds_whoever_reads_them(run: Callable[[str], Mill], tmp_path: Path) -> None:
    for folder in ("ns", "mixed [1]"):
        (tmp_path / folder).mkdir()
    from_pandas(tmp_path / "ns" / "a b.parquet")
    plain(tmp_path / "mixed [1]" / "a.parquet")
    from_pandas(tmp_path / "mixed [1]" / "b.parquet")
    mill = run("""
        CREATE STREAM n (id INT NOT NULL, ts TIMESTAMP) ORDER BY ts SLACK 40000 DAYS SOURCE 'parquet:ns';
        CREATE STREAM m (id INT, ts TIMESTAMP) ORDER BY ts SLACK 40000 DAYS SOURCE 'parquet:mixed [1]';
        CREATE STREAM far (id INT, ts TIMESTAMP, more INT NOT NULL) SOURCE 'parquet:ns';
        CREATE TABLE t (id INT, ts TIMESTAMP) SOURCE 'parquet:mixed [1]';
        CREATE QUERY spark AS SELECT id, ts FROM n;
        CREATE QUERY mixed AS SELECT id, ts FROM m;
        CREATE QUERY direct AS SELECT id, max(ts) [RANGE 1 DAY] AS ts FROM m GROUP BY id;
        CREATE QUERY bad AS SELECT raw, reason, origin FROM far.REJECTED;
        SET reader = 'spark';
        CREATE QUERY stage AS SELECT id, max(ts) [RANGE 1 DAY] AS ts FROM m GROUP BY id;
        CREATE QUERY ordered AS SELECT id, array_agg(id) OVER (ROWS 4 PRECEDING) AS ids FROM m;
    """)
    found = {
        q: sorted(tuple(r.values()) for r in mill.query(q).to_arrow().to_pylist())
        for q in ("spark", "mixed", "direct", "stage")
    }
    assert found["spark"] == EXPECTED
    assert found["mixed"] == found["direct"] == found["stage"] == [*EXPECTED, (3, BEGIN + 3 * SECOND)]
    assert [mill.query(q).counts.rows_in for q in found] == [2, 3, 3, 3]
    ids = {row["id"]: row["ids"] for row in mill.query("ordered").to_arrow().to_pylist()}
    assert ids == {2: [2], 1: [2, 1], 3: [2, 1, 3]}
    bad = mill.query("bad").to_arrow().to_pylist()
    assert {row["origin"] for row in bad} == {(tmp_path / "ns" / "a b.parquet").as_uri()}
    assert {row["reason"] for row in bad} == {"more: NULL, but the column is NOT NULL"}
    for select in ("SELECT id, ts FROM t ORDER BY id", "SELECT id, first(ts) AS ts FROM t GROUP BY id ORDER BY id"):
        (answer,) = mill.execute(select)
        assert answer.table is not None
        assert [tuple(row.values()) for row in answer.table.to_pylist()] == found["mixed"]


def test_a_folder_that_is_empty_first(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute("""
        CREATE STREAM s (id INT, ts TIMESTAMP) SOURCE 'parquet:in';
        CREATE QUERY q AS SELECT id, ts FROM s;
    """)
    for write, name in ((plain, "a"), (from_pandas, "b")):
        write(tmp_path / f"{name}.new")
        (tmp_path / f"{name}.new").rename(tmp_path / "in" / f"{name}.parquet")
        live_mill.query("q").process_available()
    found = sorted(tuple(row.values()) for row in live_mill.query("q").to_arrow().to_pylist())
    assert found == [*EXPECTED, (3, BEGIN + 3 * SECOND)]
