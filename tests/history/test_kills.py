"""Killed at any moment and started again, a reader lands each row once, and queries over the log answer as ever."""

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

import pytest

from millstream.history.index import Index
from millstream.history.log import read
from tests.drawing import THOROUGH

pytestmark = [pytest.mark.spark, pytest.mark.fault]

FILES, ROWS = 30, 100
KILLS = 6 if THOROUGH else 2
SCRIPT = """
CREATE STREAM s (id INT, ts TIMESTAMP) ORDER BY ts SLACK 2 SECONDS KEEP ALL
  SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
CREATE SINK copied TO 'csv:out/copied';
INSERT INTO copied SELECT id FROM s START AT EARLIEST;
CREATE SINK windows TO 'csv:out/windows';
INSERT INTO windows SELECT window_start, count(*) [RANGE 5 SECONDS, WA ts] AS n FROM s;
"""


def landed(folder: Path) -> int:
    return Index(folder / "ck" / "streams" / "s" / "log").extent.end


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "millstream.cli.main", "run", "x.esl", "--checkpoint", "ck", "--quiet", *options]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, start_new_session=True)


def test_a_reader_that_is_killed_lands_each_row_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    begin = datetime(2024, 1, 1)
    for file in range(FILES):
        lines = (
            f"{i},{(begin + timedelta(milliseconds=20 * i)).isoformat()}\n"
            for i in range(file * ROWS, file * ROWS + ROWS)
        )
        path = tmp_path / "in" / f"{file:03d}.csv"
        path.write_text("id,ts\n" + "".join(lines))
        os.utime(path, (1e9 + file, 1e9 + file))
    (tmp_path / "x.esl").write_text(SCRIPT)
    chance = random.Random(os.getpid())
    for kill in range(KILLS):
        before = landed(tmp_path)
        process = start(tmp_path)
        deadline = time.monotonic() + 180
        while landed(tmp_path) <= before and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 1))
        assert process.poll() is None, f"run {kill} ended before it could be killed"
        process.send_signal(signal.SIGKILL)  # the driver alone: the JVM must notice by itself
        process.wait()
    assert landed(tmp_path) < FILES * ROWS
    (tmp_path / "x.esl").write_text(SCRIPT.replace("= 1)", "= 100)"))
    process = start(tmp_path, "--once")
    _, told = process.communicate(timeout=280)
    assert process.returncode == 0, told.decode()
    log = tmp_path / "ck" / "streams" / "s" / "log"
    ids = [i for batch in read(log, 0, landed(tmp_path), ["id"]) for i in batch.column("id").to_pylist()]
    assert ids == list(range(FILES * ROWS)), "each row once, in the order in which they arrived"
    assert {file.name for file in log.glob("*.arrow")} == {piece.file for piece in Index(log).pieces()}
    assert Counter(int(row["id"]) for row in rows(tmp_path / "out" / "copied")) == Counter(ids)
    assert Counter(int(row["n"]) for row in rows(tmp_path / "out" / "windows")) == {250: FILES * ROWS // 250}


def rows(folder: Path) -> list[dict[str, str]]:
    found = []
    for file in folder.glob("*.csv"):
        with file.open() as lines:
            found += list(csv.DictReader(lines))
    return found
