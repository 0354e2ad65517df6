"""The command, killed in the middle of its work and started again: its files hold each row once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.queries.arrivals import Arrival
from tests.queries.cases import Case
from tests.queries.inputs import READ_CSV, database
from tests.queries.oracle import Found, types_of
from tests.queries.sites import Outcomes, Site, sites

SECONDS = 200


def killed(cases: list[Case], folder: Path, kills: int = 1) -> Outcomes:
    """Run `millstream run` over a script with all cases, kill it as soon as it has written something, and so on."""
    with sites(cases, folder, Arrival(files=3)) as (there, outcomes):
        for site in there:
            site.arrive()
            _disturb(site, kills)
            site.collect(_read)
    return outcomes


def _disturb(site: Site, kills: int) -> None:
    script = [text for case in site.cases for text in (*site.declarations(case), *_into_csv(case))]
    (site.folder / "x.esl").write_text(";\n".join(script))
    chance = random.Random(os.getpid())
    for number in range(kills):
        process, before, deadline = _start(site.folder), _written(site.folder), time.monotonic() + SECONDS
        while _written(site.folder) == before and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 2))
        ended = process.poll()
        process.send_signal(signal.SIGKILL)  # the driver alone: the JVM must notice by itself
        _, errors = process.communicate()
        assert ended is None, f"run {number} ended before it could be killed: {errors.decode()}"
    process = _start(site.folder)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors.decode()


def _into_csv(case: Case) -> tuple[str, str]:
    return f"CREATE SINK {case.query} TO 'csv:out/{case.query}'", f"INSERT INTO {case.query} {case.select}"


def _start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "millstream.cli.main", "run", "x.esl", "--once", "--checkpoint", "ck", "--quiet"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, start_new_session=True)


def _written(folder: Path) -> int:
    return len(list((folder / "out").glob("*/[!._]*.csv")))


def _read(folder: Path, case: Case) -> Found:
    """The rows of a folder of CSV files as a plain reader finds them, in the types of the rows they must equal."""
    files = [str(file) for file in (folder / "out" / case.query).glob("[!._]*.csv")]
    assert files, "nothing was written"
    columns = ", ".join(f"'{name}': '{type_}'" for name, type_ in types_of(case).items())
    with database() as db:
        table = db.sql(f"FROM read_csv({files}, columns={{{columns}}}, {READ_CSV})").to_arrow_table()
    return Found(table, case.late, in_order=False)
