"""What a query takes stays bounded while it runs, and is given back when it has ended."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from millstream.errors import RunError, SettingError
from millstream.mill import Mill, connect
from millstream.spark.process import close_leaks as abandoned
from tests.leaks import held

pytestmark = pytest.mark.spark


def files(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def test_a_checkpoint_keeps_its_last_batches(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(25):
        (tmp_path / "in" / f"{number:02d}.csv").write_text(f"a\n{number}\n")
    mill.execute("CREATE STREAM s (a INT) SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);")
    mill.execute("CREATE QUERY q AS SELECT a FROM s;")
    mill.wait()
    checkpoint = mill.home.root / "queries" / "q" / "checkpoint"
    assert mill.query("q").to_arrow().num_rows == 25
    assert files(checkpoint / "offsets") <= 12
    assert files(checkpoint / "commits") <= 12


def test_an_ended_query_leaves_nothing_open_here_or_in_sparks_process(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a,ts\n1,2024-01-01T00:00:00\n")
    live_mill.execute("CREATE STREAM s (a INT, ts TIMESTAMP) ORDER BY ts SOURCE 'csv:in';")
    live_mill.execute("CREATE STREAM i (a INT) SOURCE 'csv:in' OPTIONS (header = 'false');")
    ours = {"silence", "wall-clock", "tables", "bounded-run"}
    before: Counter[str] | None = None
    for name, select in (
        ("p", "[RANGE 1 SECOND] AS n FROM i"),
        ("q", "[RANGE 1 SECOND, WA ts] AS n FROM s"),
        ("e", ""),
    ):
        live_mill.execute(f"CREATE QUERY {name} AS SELECT count(*) {select or '[RANGE 1 SECOND] AS n FROM i'};")
        live_mill.query(name).process_available()
        live_mill.query(name).stop()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(t.name in ours for t in threading.enumerate()):
            time.sleep(0.05)
        assert not [t.name for t in threading.enumerate() if t.name in ours]
        abandoned.close_leaks()
        before = held() if before is None else before
    deadline = time.monotonic() + 10  # who was told to end may take a moment
    while held() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not held() - before
    assert not list(abandoned.ports_folder().iterdir())


def test_another_spark_cannot_be_had(spark: SparkSession) -> None:
    for wish in ({"master": "local[3]"}, {"conf": {"spark.driver.memory": "77g"}}):
        with (
            connect(**wish) as refused,
            pytest.raises(SettingError, match="Spark runs in this process already") as told,
        ):
            _ = refused.spark
        assert "help: give it to the first connect" in str(told.value)
    with connect(conf={"spark.sql.ansi.enabled": "false"}) as same:
        assert same.spark is not None


def test_a_bad_place_is_told_when_it_is_used(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a\n1\n")
    (tmp_path / "file").write_text("")
    mill.execute(
        "CREATE STREAM s (a INT) SOURCE 'csv:in.csv'; CREATE SINK k TO 'csv:file/x'; CREATE SINK l TO 'csv:file/x.csv';"
    )

    def write(sink: str) -> None:
        mill.execute(f"INSERT INTO {sink} SELECT a FROM s;")
        mill.query(sink).wait()

    for sink in "kl":
        with pytest.raises(RunError) as told:
            write(sink)
        assert "/file" in str(told.value)
        assert "\n  File" not in str(told.value)


def test_sparks_process_is_where_it_is_looked_for(spark: SparkSession) -> None:
    from millstream.spark.process import jvm

    assert [one.name() for one in jvm._jvms()] == ["java"]
    assert not jvm.is_lost()
    assert psutil.Process().pid == os.getpid()
