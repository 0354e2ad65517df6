"""Killed in the middle and started again, file sinks hold each row exactly once."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from millstream.mill import Mill
from tests.drawing import THOROUGH

pytestmark = [pytest.mark.spark, pytest.mark.fault]

FILES, ROWS = 40, 200
SCRIPT = """
CREATE STREAM s (id INT, note STRING, ts TIMESTAMP) ORDER BY ts SLACK 2 SECONDS
  SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
CREATE STREAM keyed AS SELECT id, id % 7 AS k, ts FROM s;
CREATE SINK folder TO 'csv:out/folder';
CREATE SINK single TO 'csv:out/single.csv';
CREATE SINK columns TO 'parquet:out/columns' OPTIONS (partition_by = 'k');
INSERT INTO folder SELECT id, note FROM s WHERE id >= 0;
INSERT INTO single SELECT id, note FROM s;
INSERT INTO columns SELECT id, k FROM keyed;
CREATE SINK windows TO 'csv:out/windows';
INSERT INTO windows
  SELECT id % 3 AS k, window_start, count(*) [RANGE 5 SECONDS, SLIDE 2 SECONDS, WA ts] AS n, sum(id) AS total, max(note)
    AS note FROM s GROUP BY id % 3;
CREATE SINK sessions TO 'csv:out/sessions';
INSERT INTO sessions
  SELECT k, window_start, window_end, count(*) AS n FROM SESSION(TABLE keyed PARTITION BY k, DESCRIPTOR(ts),
    INTERVAL '300' MILLISECOND) GROUP BY k;
CREATE SINK frames TO 'csv:out/frames';
INSERT INTO frames SELECT id, sum(id) OVER (PARTITION BY k ORDER BY ts ROWS 9 PRECEDING) AS total,
    max(id) OVER (ORDER BY ts RANGE 1 SECOND PRECEDING) AS high FROM keyed;
CREATE SINK stages TO 'csv:out/stages';
INSERT INTO stages SELECT max(n) [RANGE 4 SECONDS, WA window_end] AS busiest, count(*) AS answers, window_end FROM
    (SELECT k, window_end, count(*) [RANGE 1 SECOND, WA ts] AS n FROM keyed GROUP BY k);
CREATE SINK pairs TO 'csv:out/pairs';
INSERT INTO pairs SELECT x.id, y.id AS other FROM keyed AS x [RANGE 50 MILLISECONDS]
    LEFT JOIN keyed AS y ON x.k = y.k AND x.id < y.id AND y.id % 5 = 1;
CREATE SINK melded TO 'csv:out/melded';
INSERT INTO melded SELECT window_end, count(*) [RANGE 1 SECOND, WA ts] AS n FROM
    (SELECT ts, k FROM keyed WHERE k < 3 UNION SELECT ts, 9 FROM keyed WHERE k > 2);
"""
KINDS = ("sessions", "frames", "stages", "pairs", "melded")
KILLS = 5 if THOROUGH else 2


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "millstream.cli.main", "run", "x.esl", "--once", "--checkpoint", "ck", "--quiet"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, start_new_session=True)


def published(folder: Path) -> int:
    return len(list((folder / "out" / "folder").glob("*.csv")))


def test_each_row_exactly_once_after_sigkill(tmp_path: Path, mill: Mill) -> None:
    disturb(tmp_path)
    wanted = Counter(range(FILES * ROWS))
    found: Counter[int] = Counter()
    for file in (tmp_path / "out" / "folder").glob("*.csv"):
        found.update(_ids(file))
    assert found == wanted
    assert Counter(_ids(tmp_path / "out" / "single.csv")) == wanted
    columns = [
        (file.parent.name, i)
        for file in (tmp_path / "out" / "columns").glob("k=*/*.parquet")
        for i in pq.ParquetFile(file).read()["id"].to_pylist()
    ]
    assert Counter(columns) == Counter((f"k={i % 7}", i) for i in wanted)
    assert windows(tmp_path / "out" / "windows") == expected_windows(tmp_path / "in")
    mill.execute(_in_few_batches(SCRIPT.replace("csv:out/", "csv:calm/").replace("parquet:out/", "parquet:calm/")))
    mill.wait()
    for kind in KINDS:
        calm = lines(tmp_path / "calm" / kind)
        assert len(calm) > 5
        assert lines(tmp_path / "out" / kind) == calm, kind


def disturb(tmp_path: Path) -> None:
    """Run the script over files, kill it again and again, and let it run to its end."""
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        rows = [f"{file * ROWS + i},note {i},{stamp(file, i)}" for i in range(ROWS)]
        path = tmp_path / "in" / f"{file:03d}.csv"
        path.write_text("id,note,ts\n" + "\n".join(rows) + "\n")
        os.utime(path, (1e9 + file, 1e9 + file))  # Spark takes files by age
    (tmp_path / "x.esl").write_text(SCRIPT)
    chance = random.Random(os.getpid())
    for kill in range(KILLS):
        before = published(tmp_path)
        process = start(tmp_path)
        deadline = time.monotonic() + 120
        while published(tmp_path) < before + 1 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.5))
        assert process.poll() is None, f"run {kill} ended before it could be killed"
        process.send_signal(signal.SIGKILL)  # the driver alone: the JVM must notice by itself
        process.wait()
    assert published(tmp_path) < FILES
    finish(tmp_path)


def finish(folder: Path) -> None:
    """Run to the end."""
    (folder / "x.esl").write_text(_in_few_batches(SCRIPT))
    process = start(folder)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()


def _in_few_batches(script: str) -> str:
    """How the input is cut must not matter, and large batches save minutes."""
    return script.replace("max_files_per_batch = 1", "max_files_per_batch = 100")


def lines(folder: Path) -> Counter[str]:
    """The rows of a folder of CSV files, each with a header."""
    return Counter(line for file in folder.glob("*.csv") for line in file.read_text().splitlines()[1:])


def stamp(file: int, row: int) -> str:
    """A second a file, and rows out of order by up to two seconds."""
    return (datetime(2024, 1, 1) + timedelta(seconds=file, milliseconds=-(row * 7919) % 2000)).isoformat()


def windows(folder: Path) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as db:
        types = "{'k': 'INT', 'w': 'TIMESTAMP', 'n': 'BIGINT', 'total': 'BIGINT', 'note': 'VARCHAR'}"
        return Counter(db.execute(f"FROM read_csv('{folder}/*.csv', header=true, columns={types})").fetchall())


def expected_windows(folder: Path) -> Counter[tuple[object, ...]]:
    starts = "range(TIMESTAMP '2023-12-31 23:59:00', TIMESTAMP '2024-01-01 00:02:00', INTERVAL 2 SECOND)"
    with duckdb.connect() as db:
        return Counter(
            db.execute(
                f"""SELECT id % 3, w, count(*), sum(id)::BIGINT, max(note) FROM read_csv('{folder}/*.csv') AS s,
                    (SELECT unnest({starts}) AS w) AS windows
                    WHERE ts >= w AND ts < w + INTERVAL 5 SECOND GROUP BY 1, 2"""
            ).fetchall()
        )


def _ids(file: Path) -> list[int]:
    with file.open(newline="") as lines:
        return [int(row["id"]) for row in csv.DictReader(lines)]
