"""What `bench live` takes for right: all answers of DuckDB, of each window one."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from millstream.errors import RunError
from millstream_bench.measures.live import Load, Producer, check


def test_answers_that_are_wrong_missing_or_there_twice_are_found(tmp_path: Path) -> None:
    producer = Producer(tmp_path / "in", Load(rate=2, keys=2))
    producer.put_history(200)
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        right = db.sql(f"""
            SELECT k, count(*) AS n, sum(v)::BIGINT AS total, time_bucket(INTERVAL '10 seconds', ts) AS window_start,
                time_bucket(INTERVAL '10 seconds', ts) + INTERVAL '10 seconds' AS window_end
            FROM '{tmp_path}/in/*.parquet' GROUP BY ALL ORDER BY window_end, k""").to_arrow_table()
    check(right, tmp_path / "in")
    wrong = right.set_column(2, "total", pa.array([1, *right["total"].to_pylist()[1:]]))
    for answers in (wrong, right.slice(1), pa.concat_tables([right, right.slice(0, 1)])):
        with pytest.raises(RunError, match="are not those of DuckDB"):
            check(answers, tmp_path / "in")
    middle = right["window_end"][10].as_py()
    gap = pa.Table.from_pylist([row for row in right.to_pylist() if row["window_end"] != middle], right.schema)
    with pytest.raises(RunError, match="windows are missing or answered twice"):
        check(gap, tmp_path / "in")
