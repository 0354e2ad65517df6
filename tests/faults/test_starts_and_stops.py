"""Stopped or killed at any moment, a run leaves nothing behind: no process, no folder, no traceback.

MILLSTREAM_STARTS=50 starts and stops that many runs at random moments, and that many queries of one run, of which
Spark's process must then hold nothing; MILLSTREAM_STARTS_SEED=1 draws others.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from millstream.errors import RunError
from millstream.mill import Mill
from millstream.spark.process import close_leaks as abandoned
from millstream.spark.process.jvm import process_id, scratch
from millstream.spark.process.leftovers import owner
from tests.leaks import held

pytestmark = [pytest.mark.spark, pytest.mark.fault]

STARTED = int(os.environ.get("MILLSTREAM_STARTS", "0"))
BEGIN = int(os.environ.get("MILLSTREAM_STARTS_SEED", "0"))
COMMAND = [sys.executable, "-m", "millstream.cli.main"]
SCRIPT = """
CREATE STREAM t (n BIGINT, ts TIMESTAMP) ORDER BY ts SOURCE 'rate:20';
CREATE SINK o TO 'csv:out';
CREATE SINK w TO 'csv:windows';
INSERT INTO o SELECT n FROM t;
INSERT INTO w SELECT count(*) [RANGE 1 SECOND, WA ts] AS n FROM t;
"""
LEFT_SECONDS = 30.0
"""How long a process may outlive the run that started it: the JVM notices the end of a driver that was killed."""


class Run:
    """A run of the command in a session of its own."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder = folder
        self._rows = self._files()
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*COMMAND, "run", "x.esl"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**{k: v for k, v in os.environ.items() if k != "SPARK_LOCAL_DIRS"}, "TMPDIR": str(temporary)},
        )

    def family(self) -> list[psutil.Process]:
        """All processes that live of its session."""
        return [one for one in psutil.process_iter() if _is_of(one, self.process.pid)]

    def jvm(self) -> psutil.Process | None:
        return next((one for one in self.family() if _name(one) == "java"), None)

    def wait_for(self, what: str) -> None:
        """Wait for a moment: a time, Spark's process, the first rows."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            if (what == "jvm" and self.jvm()) or (what == "rows" and self._files() > self._rows):
                return
            time.sleep(0.02)
        raise AssertionError(f"there was no {what}: {self.process.communicate()[1]}")

    def _files(self) -> int:
        # Answers of windows: when they come, both queries have been started, and the script has been carried out.
        return len(list((self.folder / "windows").glob("*.csv")))

    def send(self, how: str) -> None:
        number, whom = how.split()
        wanted = signal.Signals[number]
        if self.process.poll() is not None:
            return
        if whom == "group":
            os.killpg(self.process.pid, wanted)
        elif whom == "driver":
            self.process.send_signal(wanted)
        elif jvm := self.jvm():
            jvm.send_signal(wanted)

    def end(self) -> str:
        """Wait for its end; what it wrote to standard error. Nothing that it started lives on."""
        try:
            _, errors = self.process.communicate(timeout=90)
            deadline = time.monotonic() + LEFT_SECONDS
            while left := self.family():
                assert time.monotonic() < deadline, left
                time.sleep(0.05)
        finally:
            for one in self.family():
                one.kill()
        assert "Traceback" not in errors, errors
        assert "Error:" not in errors, errors
        return errors


def _is_of(process: psutil.Process, session: int) -> bool:
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (OSError, psutil.Error):
        return False


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def folders(temporary: Path) -> list[str]:
    """What is in the folder for temporary files.

    The root of copies of state may stay, if it is empty, and a log of Spark of which the user was told.
    """
    root, log = f"millstream-{os.getuid()}", "spark.log"
    found = [e for e in temporary.rglob("*") if e.name not in {root, log}]
    return [str(e.relative_to(temporary)) for e in found if not (e.is_dir() and os.listdir(e) == [log])]  # noqa: PTH208


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    (tmp_path / "x.esl").write_text(SCRIPT)
    with tempfile.TemporaryDirectory() as temporary:
        yield tmp_path, Path(temporary)


def test_a_run_leaves_nothing_behind_in_any_phase(place: tuple[Path, Path]) -> None:
    folder, temporary = place
    run = Run(folder, temporary)
    run.wait_for("jvm")
    run.send("SIGINT group")
    errors = run.end()
    assert run.process.returncode == 130
    assert errors.splitlines()[-1] == "stopping"
    assert folders(temporary) == []

    run = Run(folder, temporary)
    run.wait_for("rows")
    run.send("SIGKILL jvm")
    errors = run.end()
    assert run.process.returncode == 1
    assert errors.count("error: Spark's process was ended by SIGKILL, and all queries with it\n") == 1
    assert errors.count("error") == 1

    run = Run(folder, temporary)
    run.wait_for("jvm")
    run.send("SIGKILL driver")
    run.end()
    assert folders(temporary) != []

    run = Run(folder, temporary)
    run.wait_for("rows")
    run.send("SIGTERM driver")
    errors = run.end()
    assert run.process.returncode == 0
    assert "stopping" in errors
    assert "o: ended" in errors
    assert folders(temporary) == []


WAYS = ["SIGINT group", "SIGINT driver", "SIGTERM driver", "SIGTERM group", "SIGKILL driver"]
if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup: a run that inherits that goes on
    WAYS.append("SIGHUP group")


def random_moments(place: tuple[Path, Path]) -> None:
    folder, temporary = place
    run = Run(folder, temporary)
    run.wait_for("rows")
    whole = time.monotonic() - run.started + 2
    run.send("SIGINT group")
    run.end()
    assert folders(temporary) == []
    for number in range(STARTED):
        chance = random.Random(BEGIN * 1000 + number)
        moment, way = chance.uniform(1, whole), chance.choice((*WAYS, "SIGKILL jvm"))
        second = chance.choice([True, False]) and "KILL" not in way
        run = Run(folder, temporary)
        time.sleep(moment)
        run.send(way)
        if second:
            time.sleep(chance.uniform(0, 1))
            run.send(way)
        if way == "SIGKILL jvm":
            time.sleep(3)
            run.send("SIGTERM driver")
        errors = run.end()
        told = (
            f"{number}: {way}{' twice' if second else ''} at {moment:.2f}: {run.process.returncode} {errors[-200:]!r}"
        )
        sys.stderr.write(f"{told} {folders(temporary)}\n")
        if way != "SIGKILL driver":
            assert folders(temporary) == [], told


FAILS = "SELECT raise_error('boom') AS n FROM s"
QUERIES = (
    "SELECT count(*) [RANGE 1 SECOND, WA ts] AS n FROM s",
    "SELECT a, sum(a) OVER (ORDER BY ts ROWS 3 PRECEDING) AS n FROM s",
    "SELECT x.n FROM (SELECT count(*) [RANGE 1 SECOND, WA ts] AS n, window_end AS e FROM s) AS x WHERE x.n > 0",
    "SELECT count(*) [RANGE 1 SECOND] AS n FROM r",
    "SELECT a FROM s",
    FAILS,
)
IDLE_SECONDS = 80.0
"""After that Spark has ended processes of Python that are idle, and closed the state of queries that have ended."""


def holds() -> dict[str, int]:
    """What Spark's process and this one hold, when all that ends by itself has ended."""
    abandoned.close_leaks()
    time.sleep(IDLE_SECONDS)
    number = process_id()
    assert number is not None
    spark, this = psutil.Process(number), psutil.Process()
    return {
        **held(),
        "files": spark.num_fds(),
        "threads": spark.num_threads(),
        "files here": this.num_fds(),
        "processes": len(this.children(recursive=True)),
        "folders": len(list(Path(tempfile.gettempdir()).glob(f"millstream-{owner()}-*"))),
        "temporary files": len(list(scratch().rglob("*"))),
        "MiB": spark.memory_info().rss >> 20,
    }


def random_queries(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a,ts\n1,2024-01-01T00:00:00\n2,2024-01-01T00:00:09\n")
    live_mill.execute(
        "CREATE STREAM s (a INT, ts TIMESTAMP) ORDER BY ts SOURCE 'csv:in'; CREATE STREAM r (n BIGINT) SOURCE 'rate:9';"
    )
    before: dict[str, int] = {}
    for number in range(STARTED):
        chance = random.Random(BEGIN * 1000 + number)
        select = QUERIES[number % len(QUERIES)]
        live_mill.execute(f"CREATE QUERY q{number} AS {select};")
        if chance.choice([True, False]) or select == FAILS:
            with contextlib.suppress(RunError):
                live_mill.query(f"q{number}").process_available()
        else:
            time.sleep(chance.uniform(0, 1.5))
        live_mill.execute(f"DROP QUERY q{number};")
        if number == 2 * len(QUERIES) - 1:
            before = holds()
    after = holds()
    sys.stderr.write(f"{before}\n{after}\n")
    grown = {name: count - before[name] for name, count in after.items() if name != "MiB" and count > before[name]}
    # Spark's own pools of threads are as large as they ever had to be, each thread with up to three files.
    assert grown.pop("threads", 0) <= 5
    assert grown.pop("files", 0) <= 15
    assert not grown


if STARTED:
    test_random_moments = pytest.mark.timeout(0)(random_moments)
    test_random_queries = pytest.mark.timeout(0)(random_queries)
