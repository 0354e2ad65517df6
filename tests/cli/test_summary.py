"""The closing summary: late and rejected rows, and the row that moved time most."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from millstream.catalog.definitions import Stream, TimeStamp
from millstream.catalog.schema import Schema
from millstream.cli.progress import Progress
from millstream.cli.summary import summarize
from millstream.spark.run.progress import Counts, Leap

DAY = 86_400_000_000


def mill(*counts: Counts) -> Any:
    stream = Stream("s", Schema([]), None, "ts", TimeStamp.EXTERNAL)
    queries = [SimpleNamespace(name=f"q{n}", state="ended", counts=one, is_active=True) for n, one in enumerate(counts)]
    return SimpleNamespace(queries=queries, catalog=SimpleNamespace(relation={"s": stream}.get))


def test_what_was_lost_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counts(rows_in=9, rejected={"s": 3}, beyond={"s": 1}, late={"s": 2})
    for newest in (5, 7 * DAY, 20 * 365 * DAY, 20 * 365 * DAY + 1):
        counts._add_newest("s", newest)
    summarize(mill(counts, Counts(late={"s": 0})), 1.0, as_json=False)
    assert capsys.readouterr().err.splitlines() == [
        "q0: ended, 9 rows in, 0 rows out, 3 rejected, 2 late, 0 batches, 0 rows per s",
        "q1: ended, 0 rows in, 0 rows out, 0 rejected, 0 batches, 0 rows per s",
        "s: 2 rows did not parse; see s.REJECTED",
        "s: 1 row with a time stamp out of bounds; see s.REJECTED",
        "s: 2 rows came too late; see s.LATE",
        "s: its time was moved most by the row of 1989-12-27T00:00:00, by 7,293 days:"
        " that WHERE ts = '1989-12-27T00:00:00'",
    ]


def test_it_is_told_while_a_run_goes_on() -> None:
    counts = Counts(rows_in=9, rejected={"s": 3}, late={"s": 2}, leaps={"s": Leap(0, 5)})
    line = Progress(quiet=True).of(mill(counts))._line()
    assert line.endswith("0 batches, 3 rejected, 2 late, s moved most by 1970-01-01T00:00:00, 1 running")


def test_the_first_batch_counts_only_as_long_as_there_is_no_other() -> None:
    counts = Counts()
    counts._add_newest("s", 100)
    assert counts.leaps == {"s": Leap(100, None)}
    counts._add_newest("s", 90)
    counts._add_newest("s", 101)
    assert counts.leaps == {"s": Leap(101, 1)}
    assert counts.newest == {"s": 101}
