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
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.fault]

FILES, ROWS = 40, 200
SCRIPT = """
CREATE STREAM s (id INT, note STRING) SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
CREATE SINK folder TO 'csv:out/folder';
CREATE SINK single TO 'csv:out/single.csv';
CREATE SINK columns TO 'parquet:out/columns';
INSERT INTO folder SELECT id, note FROM s WHERE id >= 0;
INSERT INTO single SELECT id, note FROM s;
INSERT INTO columns SELECT id FROM s;
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "millstream.cli.main", "run", "x.esl", "--once", "--checkpoint", "ck", "--quiet"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, start_new_session=True)


def published(folder: Path) -> int:
    return len(list((folder / "out" / "folder").glob("*.csv")))


def test_each_row_exactly_once_after_sigkill(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        lines = [f"{file * ROWS + i},note {i}" for i in range(ROWS)]
        (tmp_path / "in" / f"{file:03d}.csv").write_text("id,note\n" + "\n".join(lines) + "\n")
    (tmp_path / "x.esl").write_text(SCRIPT)
    chance = random.Random(os.getpid())
    for kill in range(3):
        before = published(tmp_path)
        process = start(tmp_path)
        deadline = time.monotonic() + 120
        while published(tmp_path) < before + 2 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.5))
        assert process.poll() is None, f"run {kill} ended before it could be killed"
        process.send_signal(signal.SIGKILL)  # the driver alone: the JVM must notice by itself
        process.wait()
    assert published(tmp_path) < FILES
    last = start(tmp_path)
    _, errors = last.communicate(timeout=240)
    assert last.returncode == 0, errors.decode()

    wanted = Counter(range(FILES * ROWS))
    found: Counter[int] = Counter()
    for file in (tmp_path / "out" / "folder").glob("*.csv"):
        found.update(_ids(file))
    assert found == wanted
    assert Counter(_ids(tmp_path / "out" / "single.csv")) == wanted
    tables = [pq.read_table(f) for f in (tmp_path / "out" / "columns").glob("*.parquet")]
    assert Counter(i for t in tables for i in t["id"].to_pylist()) == wanted


def _ids(file: Path) -> list[int]:
    with file.open(newline="") as lines:
        return [int(row["id"]) for row in csv.DictReader(lines)]
