"""Runs over what is there: the end comes along with the last tuples, and what is left over does no harm."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect
from millstream.spark.run.control import signal
from millstream.spark.stage.control_words import END

pytestmark = pytest.mark.spark

STREAM = """
    CREATE STREAM s (ts TIMESTAMP, k STRING) ORDER BY ts SLACK 60 SECONDS
    SOURCE 'csv:in' OPTIONS (max_files_per_batch = 2);
    CREATE SINK o TO 'csv:out';
"""
QUERY = "INSERT INTO o SELECT count(*) [RANGE 1 MINUTE, WA ts] AS n, window_end FROM s"


def arrive(folder: Path, number: int, *seconds: int) -> None:
    """A file with tuples of these seconds; Spark takes files by age."""
    (folder / "in").mkdir(exist_ok=True)
    hidden = folder / "in" / f".{number}"
    hidden.write_text("ts,k\n" + "".join(f"2024-01-01T00:{s // 60:02d}:{s % 60:02d},x\n" for s in seconds))
    os.utime(hidden, (1e9 + number, 1e9 + number))
    hidden.rename(folder / "in" / f"{number}.csv")


def opened(folder: Path) -> Mill:
    return connect(folder / "checkpoint", base=folder, once=True, master="local[2]")


def answers(folder: Path) -> Counter[tuple[int, str]]:
    rows = [line.split(",") for file in (folder / "out").glob("*.csv") for line in file.read_text().split()[1:]]
    return Counter((int(n), end[14:19]) for n, end in rows)


@pytest.mark.parametrize("files", [1, 2, 5])
def test_a_run_takes_no_batch_for_its_end(spark: object, tmp_path: Path, files: int) -> None:
    for number in range(files):
        arrive(tmp_path, number, 10 + number, 100 - number)
    (tmp_path / "in" / "_SUCCESS").touch()  # no reader takes it, so it counts for no batch
    with opened(tmp_path) as mill:
        mill.execute(STREAM + QUERY)
        mill.wait()
        assert mill.queries[0].counts.batches == (files + 1) // 2
        assert mill.queries[0].counts.late == {"s": 0}
    assert answers(tmp_path) == Counter([(files, "01:00"), (files, "02:00")])
    assert not list(tmp_path.rglob("*.crc"))  # Hadoop would start four processes for each


def test_runs_go_on_from_each_other_and_nothing_there_is_an_answer_too(spark: object, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for run in range(3):
        if run:
            for number in range(3):
                arrive(tmp_path, 10 * run + number, 300 * run + number)
        with opened(tmp_path) as mill:
            mill.execute(STREAM + QUERY)
            mill.wait()
    assert answers(tmp_path) == Counter([(3, "06:00"), (3, "11:00")])


def test_the_end_that_a_run_did_not_come_to_is_not_that_of_the_next(spark: object, tmp_path: Path) -> None:
    arrive(tmp_path, 0, 10)
    with opened(tmp_path) as mill:
        mill.execute(STREAM + QUERY)
        mill.wait()
        name = mill.queries[0].name
    signal(tmp_path / "checkpoint" / "queries" / name / "control", END)  # as of a run that was killed
    for number in range(6):
        arrive(tmp_path, number + 1, 190 - 10 * number)
    with opened(tmp_path) as mill:
        mill.execute(STREAM + QUERY)
        mill.wait()
        assert mill.queries[0].counts.late == {"s": 0}
    assert answers(tmp_path) == Counter([(1, "01:00"), (4, "03:00"), (2, "04:00")])


def test_a_key_of_another_type_is_refused_and_a_failed_start_leaves_the_name_free(
    spark: object, tmp_path: Path
) -> None:
    arrive(tmp_path, 0, 10, 100)
    query = "INSERT INTO o SELECT k, count(*) [RANGE 1 MINUTE, WA ts] AS n FROM s GROUP BY k"
    with opened(tmp_path) as mill:
        mill.execute(STREAM.replace("csv:out", "json:out") + query)
        mill.wait()
    answered = sorted(file.read_text() for file in (tmp_path / "out").iterdir())
    arrive(tmp_path, 1, 110, 200)
    with opened(tmp_path) as mill:
        mill.execute(STREAM.replace("csv:out", "json:out").replace("k STRING", "k INT"))
        with pytest.raises(RunError, match=r"holds other state .*, key k was STRING and is now INT\nhelp: keep what"):
            mill.execute(query)
        (tmp_path / "file").touch()
        for place in ("csv:file/p.csv", "csv:file", "csv:file/p"):
            mill.execute(f"CREATE SINK p TO '{place}'")
            with pytest.raises(RunError, match="cannot be a folder: there is a file in its place"):
                mill.execute("INSERT INTO p SELECT k FROM s")
            mill.execute("DROP SINK p")
        assert [place.name for place in (tmp_path / "checkpoint" / "queries").iterdir()] == ["o"]
    assert sorted(file.read_text() for file in (tmp_path / "out").iterdir()) == answered
