"""Killed in the middle and started again: results, views and fed streams hold each batch exactly once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from millstream.catalog.definitions import NEWEST
from millstream.store.batch_files import list_batch_files, read_file
from millstream.store.batch_log import BatchLog
from millstream.store.newest import OP
from millstream.store.view_store import ViewColumns, ViewStore
from tests.drawing import THOROUGH
from tests.faults.test_sigkill import start

pytestmark = [pytest.mark.spark, pytest.mark.fault]

FILES, ROWS = 14, 50
KILLS = 4 if THOROUGH else 1
SCRIPT = """
SET buckets = 1;
CREATE STREAM s (id INT, ts TIMESTAMP) ORDER BY ts SLACK 2 SECONDS
  SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
CREATE QUERY answers AS SELECT id FROM s;
CREATE VIEW newest KEY (k) AS SELECT id % 7 AS k, id FROM s;
CREATE STREAM fed (id INT, ts TIMESTAMP) ORDER BY ts SLACK 2 SECONDS;
INSERT INTO fed SELECT id, ts FROM s WHERE id % 2 = 0;
CREATE QUERY of_fed AS SELECT id FROM fed;
"""


def tuples() -> Iterator[tuple[int, datetime]]:
    """A second a file, out of order by up to two seconds, each time stamp once."""
    for number in range(FILES * ROWS):
        file, row = divmod(number, ROWS)
        yield (
            number,
            datetime(2024, 1, 1) + timedelta(seconds=file, milliseconds=-(row * 7919 % 2000), microseconds=row),
        )


def test_each_batch_exactly_once_after_sigkill(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    known = list(tuples())
    for file in range(FILES):
        lines = [f"{number},{time_.isoformat()}" for number, time_ in known[file * ROWS : (file + 1) * ROWS]]
        path = tmp_path / "in" / f"{file:03d}.csv"
        path.write_text("id,ts\n" + "\n".join(lines) + "\n")
        os.utime(path, (1e9 + file, 1e9 + file))  # Spark takes files by age
    (tmp_path / "x.esl").write_text(SCRIPT)
    queries = tmp_path / "ck" / "queries"
    chance = random.Random(os.getpid())
    for kill in range(KILLS):
        before = answered(queries)
        process = start(tmp_path)
        deadline = time.monotonic() + 120
        while answered(queries) < before + ROWS and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.3))
        assert process.poll() is None, f"run {kill} ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    (tmp_path / "x.esl").write_text(SCRIPT.replace("max_files_per_batch = 1", "max_files_per_batch = 100"))
    process = start(tmp_path)
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors.decode()
    assert Counter(log_of(queries / "answers" / "results")["id"].to_pylist()) == Counter(range(FILES * ROWS))
    assert Counter(log_of(queries / "of_fed" / "results")["id"].to_pylist()) == Counter(range(0, FILES * ROWS, 2))
    assert newest(queries / "newest" / "results") == {k: last(known, k) for k in range(7)}


def answered(queries: Path) -> int:
    results = queries / "answers" / "results"
    files = sorted(results.glob("*.arrow")) if results.exists() else []
    return len(files) * ROWS


def log_of(folder: Path) -> pa.Table:
    return BatchLog(schema_of(folder), 10**9, folder).table()


def newest(folder: Path) -> dict[int, int]:
    schema = pa.schema([field for field in schema_of(folder / "changes") if field.name != OP])
    rows = ViewStore(schema, ViewColumns(("k", "id"), ("k",), NEWEST), 10**9, folder).table()
    return {row["k"]: row["id"] for row in rows.to_pylist()}


def schema_of(folder: Path) -> pa.Schema:
    return next(batch.rows.schema for path, _, _ in list_batch_files(folder) for batch in read_file(path))


def last(known: list[tuple[int, datetime]], key: int) -> int:
    return max((t for t in known if t[0] % 7 == key), key=lambda t: t[1])[0]
