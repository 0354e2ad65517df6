"""Mills that are killed while queries are added, altered and dropped take up what was said, and lose no row.

MILLSTREAM_THOROUGH=1 kills more often.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from millstream.catalog.catalog import STDOUT, key_of
from millstream.catalog.definitions import PythonAggregate
from millstream.mill import Mill, connect
from tests.drawing import THOROUGH

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.timeout(3600 if THOROUGH else 600)]

KILLS = 12 if THOROUGH else 2
LEFT_SECONDS = 60.0

MILL = """
import random, sys
from millstream.errors import MillstreamError
from millstream.mill import connect
chance = random.Random(int(sys.argv[1]))
SELECTS = (
    "SELECT k, v FROM s",
    "SELECT k, v + 1 AS v FROM s",
    "SELECT k, count(*) [RANGE 5 SECONDS, WA ts] AS v FROM s GROUP BY k",
)
with connect("ck", master="local[2]", resumes=True) as mill:
    print("resumed", *mill.resumed.queries, flush=True)
    for problem in mill.resumed.problems:
        print("problem", problem, flush=True)
    if mill.catalog.relation("s") is None:
        mill.execute("CREATE STREAM s (k INT, v INT, ts TIMESTAMP) ORDER BY ts SOURCE 'csv:in'"
                     " OPTIONS (max_files_per_batch = 1)")
    if mill.catalog.sink("out") is None:
        mill.execute("CREATE SINK out TO 'csv:out'")
    if mill.catalog.query("out") is None:
        mill.execute("INSERT INTO out SELECT k, v FROM s")
    while True:
        name, select = f"q{chance.randint(1, 3)}", chance.choice(SELECTS)
        statement = chance.choice([
            f"CREATE QUERY {name} AS {select}", f"DROP QUERY {name}", f"ALTER QUERY {name} AS {select}",
            f"ALTER QUERY {name} AS {select} STARTING NOW", f"STOP QUERY {name}", f"START QUERY {name}",
            f"ALTER QUERY {name} RENAME TO q{chance.randint(1, 3)}", "ALTER STREAM s SET (SLACK = 1 SECOND)",
            "ALTER STREAM s SET (SLACK = DEFAULT)",
        ])
        try:
            mill.execute(statement)
            print("done", statement, flush=True)
        except MillstreamError as problem:
            print("refused", statement, str(problem).splitlines()[0], flush=True)
"""


def agrees(mill: Mill) -> None:
    """The store and the catalog speak of the same definitions, and each query has one folder."""
    entries = mill.engine.definitions.store.entries()
    found = {key_of(d) for d in mill.catalog if d != STDOUT and not isinstance(d, PythonAggregate)}
    assert {entry.key for entry in entries} == found
    assert not [entry for entry in entries if entry.pending or entry.left_over]
    folders = {entry.folder for entry in entries if entry.space == "query"}
    assert {folder.name for folder in (mill.home.root / "queries").iterdir()} == folders


def add_file(folder: Path, number: int) -> None:
    hidden = folder / f".{number}.csv"
    rows = (f"{number * 10 + i},{i},2024-01-01T00:{number % 60:02d}:{i:02d}\n" for i in range(10))
    hidden.write_text("k,v,ts\n" + "".join(rows))
    hidden.rename(folder / f"{number:04d}.csv")


def delivered(folder: Path) -> Counter[int]:
    lines = (line for file in folder.glob("*.csv") for line in file.read_text().splitlines()[1:])
    return Counter(int(line.partition(",")[0]) for line in lines)


@pytest.mark.usefixtures("spark")
def test_killed_while_queries_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    chance, files = random.Random(os.getpid()), 0
    for kill in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", MILL, str(kill)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        said = []
        try:
            for _ in range(chance.randint(4, 8)):
                add_file(tmp_path / "in", files)
                files += 1
                said.append(process.stdout.readline())
            time.sleep(chance.uniform(0, 2))
        finally:
            process.send_signal(signal.SIGKILL)  # the driver alone: Spark's process must notice by itself
            process.wait()
        assert said[0].startswith("resumed"), said
        assert not [line for line in said if line.startswith("problem")], said
        _wait_for_end_of(process.pid)
    with connect(tmp_path / "ck", base=tmp_path, master="local[2]", resumes=True) as mill:
        assert mill.resumed.problems == ()
        agrees(mill)
        for query in mill.queries:
            query.process_available()
        assert "out" in mill.resumed.queries
    assert delivered(tmp_path / "out") == Counter(range(files * 10))


def _wait_for_end_of(session: int) -> None:
    """Wait until Spark's process has noticed that its driver is gone: until then it may still write."""
    import psutil

    deadline = time.monotonic() + LEFT_SECONDS
    while time.monotonic() < deadline:
        alive = []
        for one in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.getsid(one.pid) == session and one.status() != psutil.STATUS_ZOMBIE:
                    alive.append(one)
        if not alive:
            return
        time.sleep(0.1)
    for one in alive:
        one.kill()
