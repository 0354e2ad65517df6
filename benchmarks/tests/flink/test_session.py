"""Sessions of Flink: the program runs in a process of its own, with a Flink that only writes down what it is told."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.errors import RunError
from millstream_bench.data.rows import START_MICROS, ticks
from millstream_bench.flink import environment
from millstream_bench.flink.job import FlinkJob, FlinkQuery
from millstream_bench.flink.join import flink_join
from millstream_bench.flink.one_query import OneQuery
from millstream_bench.flink.session import PROGRAM, FlinkSession
from millstream_bench.flink.sliding import flink_sliding
from millstream_bench.harness.workload import Setting
from millstream_bench.nexmark.contest.flink import as_in_the_suite
from millstream_bench.nexmark.folder import auctions

OPTIONS = {"rows": 500, "rate": 100, "disorder": 3, "range": 10, "slide": 2, "keys": 2}
PAIRS = {"rows": 1000, "rows_per_side": 500, "rate": 100, "disorder": 3, "slack": 1000, "low": 1, "high": 2, "keys": 2}

TABLE = """
import json, os, re
from pathlib import Path

SAID = Path(os.environ["SAID"])

def say(*words):
    with SAID.open("a") as file:
        file.write(json.dumps(words) + "\\n")

class EnvironmentSettings:
    @staticmethod
    def in_streaming_mode():
        return "streaming"

class Result:
    def wait(self): ...
    def collect(self): return self
    def __enter__(self): return iter([(1.0, 2.0), (3.0, 4.0)])
    def __exit__(self, *_): ...

class StatementSet:
    def add_insert_sql(self, text): say("together", text)
    def execute(self): return Result()

class Settings:
    def set(self, key, value): say("set", key, value)

class TableEnvironment:
    kept = None
    @staticmethod
    def create(mode):
        print("noise on standard output")
        return TableEnvironment()
    def get_config(self): return Settings()
    def create_temporary_function(self, name, function): say("function", name)
    def create_statement_set(self): return StatementSet()
    def execute_sql(self, text):
        if "no_such_table" in text:
            raise ValueError("Flink knows no table\\n\\tat a frame\\nat all")
        if text.startswith("CREATE TEMPORARY TABLE kept"):
            self.kept = Path(re.search("file://([^']+)", text)[1])
        if text.startswith("INSERT INTO kept"):
            self.kept.mkdir(exist_ok=True)
            (self.kept / "part-0").write_text(os.environ["ROWS"])
        say("sql", " ".join(text.split()))
        return Result()

class AggregateFunction: ...
class DataTypes: ...
"""


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What Flink is told, a list in JSON on each line."""
    package = tmp_path / "site" / "pyflink"
    (package / "table").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "table" / "__init__.py").write_text(TABLE)
    (package / "table" / "udf.py").write_text("def udaf(function): return function\n")
    (package / "common.py").write_text("def Row(*values): return list(values)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    monkeypatch.setattr(environment, "installed", lambda: Path(sys.executable))
    return tmp_path / "said"


def told(said: Path) -> list[list[str]]:
    return [json.loads(line) for line in said.read_text().splitlines()]


def texts(said: Path) -> list[str]:
    return [words[-1] for words in told(said) if words[0] == "sql"]


def setting(data: object, options: Mapping[str, int]) -> Setting:
    return Setting(str(data), 2, "1g", options)


def one_round(job: OneQuery, folder: Path) -> None:
    try:
        assert job.run() >= 0
        job.write_results(folder)
        assert job.notes()["source_rows_per_s"] > 0
    finally:
        job.close()


def test_a_window_over_files(tmp_path: Path, said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWS", '7,"2026-01-01 00:00:01",3,0.5,1.5\n')
    data = ticks(tmp_path, rows=50, keys=2, seed=1, disorder=3, rate=100, files=2)
    one_round(flink_sliding(setting(data, OPTIONS), "csv"), tmp_path / "rows")
    table, *_ = texts(said)
    assert "WATERMARK FOR ts AS ts - INTERVAL '0 00:00:00.004' DAY TO SECOND(3)" in table
    assert f"'path' = 'file://{data}-csv-2'" in table
    assert len(list(Path(f"{data}-csv-2").iterdir())) == 2
    assert ["set", "parallelism.default", "2"] in told(said)
    assert ["set", "table.optimizer.agg-phase-strategy", "TWO_PHASE"] in told(said)
    hop = "HOP(TABLE ticks, DESCRIPTOR(ts), INTERVAL '0 00:00:02.000' DAY TO SECOND(3), INTERVAL '0 00:00:10.000' DAY"
    (run,) = (text for text in texts(said) if text.startswith("INSERT INTO nowhere_query"))
    assert hop in run
    assert [words for words in told(said) if words[0] == "together"] == [
        ["together", "INSERT INTO unseen_0 SELECT k, v, ts FROM ticks"]
    ] * 3
    (row,) = pq.read_table(tmp_path / "rows").to_pylist()
    assert (row["k"], row["n"], row["high"], row["total"]) == (7, 3, 0.5, 1.5)


def test_an_aggregate_in_python(tmp_path: Path, said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWS", '7,"2026-01-01 00:00:01",0.5\n')
    one_round(flink_sliding(setting("", OPTIONS), "datagen", "python"), tmp_path / "rows")
    table, *_ = texts(said)
    assert "'number-of-rows' = '500'" in table
    assert f"{START_MICROS // 1000} + CAST(number * 1000 / 100 AS BIGINT) - RAND_INTEGER(4)" in table
    assert ["function", "python_avg"] in told(said)
    assert ["set", "python.executable", sys.executable] in told(said)
    (run,) = (text for text in texts(said) if text.startswith("INSERT INTO nowhere_query"))
    assert "python_avg(v)" in run
    assert "GROUP BY k, HOP(ts, INTERVAL '0 00:00:02.000' DAY TO SECOND(3), INTERVAL '0 00:00:10.000'" in run
    (row,) = pq.read_table(tmp_path / "rows").to_pylist()
    assert (row["k"], row["answer"]) == (7, 0.5)


def test_a_join(tmp_path: Path, said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWS", "7,0.5,1.5\n")
    checked: list[pa.Table] = []
    job = flink_join(setting("", PAIRS), "datagen", lambda folder, _: checked.append(pq.read_table(folder)))
    one_round(job, tmp_path / "rows")
    a, b, *_ = texts(said)
    assert a.startswith("CREATE TABLE a (number BIGINT")
    assert b.startswith("CREATE TABLE b (number BIGINT")
    assert "ts - INTERVAL '0 00:00:01.000' DAY TO SECOND(3)" in b
    (run,) = (text for text in texts(said) if text.startswith("INSERT INTO nowhere_query"))
    assert "BETWEEN a.ts - INTERVAL '0 00:00:01.000' DAY TO SECOND(3) AND a.ts + INTERVAL '0 00:00:02.000'" in run
    assert [table.to_pylist() for table in checked] == [[{"k": 7, "v": 0.5, "w": 1.5}]]


def test_the_auction_house(tmp_path: Path, said: Path) -> None:
    data = auctions(tmp_path, events=500, seed=1, files=2)
    suite = as_in_the_suite(setting(data, {"rows": 500}))
    try:
        assert suite.run("q15") >= 0
        assert suite.notes()["source"].startswith("the same rows as CSV")
    finally:
        suite.close()
    first = texts(said)[0]
    assert first.startswith("CREATE TABLE person (")
    assert f"'path' = 'file://{data}-csv-2/person'" in first
    assert any(text.startswith("INSERT INTO nowhere_q15 ") for text in texts(said))
    assert ["set", "table.optimizer.distinct-agg.split.enabled", "true"] in told(said)
    assert [words[1] for words in told(said) if words[0] == "together"][:3] == [
        f"INSERT INTO unseen_{number} SELECT extra FROM {kind}"
        for number, kind in enumerate(("person", "auction", "bid"))
    ]


def test_sums_are_those_of_the_last_row(said: Path) -> None:
    query = FlinkQuery("a DOUBLE, b DOUBLE", "SELECT a, b FROM t", ("SUM(a)", "SUM(b)"))
    session = FlinkSession(setting("", {"rows": 1}), "csv", FlinkJob((), {"q": query}, ()))
    try:
        assert session.keep_sums("q") == {"SUM(a)": 3.0, "SUM(b)": 4.0}
    finally:
        session.close()


def test_what_flink_says_of_a_mistake(said: Path) -> None:
    with pytest.raises(RunError, match=r"^Flink knows no table; at all$"):
        FlinkSession(setting("", {"rows": 1}), "csv", FlinkJob(("no_such_table",), {}, ()))


def test_the_program_needs_nothing_of_ours() -> None:
    found = set()
    for node in ast.walk(ast.parse(PROGRAM.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    assert {name.partition(".")[0] for name in found} <= {*sys.stdlib_module_names, "pyflink"}
