"""The bench of joins: its data, what it must give, its arguments, and small runs in which all engines agree."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from millstream.cli.main import main
from millstream.errors import RunError
from millstream_bench.data.pairs import expected, streams, sums
from millstream_bench.flink import environment
from millstream_bench.harness.compare import compare
from millstream_bench.harness.workload import Setting, Size
from millstream_bench.workloads import join

SMALL = ["--rows", "20000", "--rate", "2000", "--keys", "2000", "--repeat", "1", "--warm-up", "0", "--json"]


def made(root: Path, rows: int = 3000, disorder: int = 500) -> Path:
    return streams(root, rows=rows, keys=40, seed=5, disorder=disorder, rate=200)


def joined(folder: Path, low: int, high: int) -> pa.Table:
    """The pairs of the whole tables, by DuckDB."""
    a, b = (f"read_parquet('{folder}/{side}/*.parquet')" for side in ("a", "b"))
    return duckdb.sql(f"""
        SELECT a.k, a.v, b.v AS w FROM {a} AS a JOIN {b} AS b
        ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL {low} SECONDS AND a.ts + INTERVAL {high} SECONDS
    """).to_arrow_table()


def test_streams_are_seeded_and_differ(tmp_path: Path) -> None:
    first, again = made(tmp_path / "x"), made(tmp_path / "y")
    a, b = (pq.read_table(first / side) for side in ("a", "b"))
    assert a.num_rows == b.num_rows == 3000
    assert a == pq.read_table(again / "a")
    assert b == pq.read_table(again / "b")
    assert a["k"] != b["k"]
    assert [f"{f.name} {f.type}" for f in a.schema] == ["ts timestamp[us, tz=UTC]", "k int32", "v double"]


def test_streams_are_made_once(tmp_path: Path) -> None:
    folder = made(tmp_path)
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*.parquet")}
    assert len(before) == 40
    assert made(tmp_path) == folder
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.parquet")} == before
    assert [p.name for p in tmp_path.iterdir()] == [folder.name]


def test_a_file_has_the_same_rows_at_every_size(tmp_path: Path) -> None:
    folder = made(tmp_path, 1_200_000)
    assert {pq.read_metadata(file).num_rows for file in folder.rglob("*.parquet")} == {50_000}


def test_times_are_whole_milliseconds_and_late_by_no_more_than_asked_for(tmp_path: Path) -> None:
    late, sorted_ = (pq.read_table(made(tmp_path, disorder=d) / "a")["ts"].cast("int64") for d in (7, 0))
    assert pc.all(pc.equal(pc.multiply(pc.divide(late, 1000), 1000), late)).as_py()
    steps = pc.subtract(late, sorted_)
    assert -7000 <= pc.min(steps).as_py() < pc.max(steps).as_py() <= 0


@pytest.mark.parametrize(("low", "high"), [(2, 3), (0, 0), (0, 1), (1, 0), (100, 100)])
def test_what_is_expected_is_what_duckdb_gives(low: int, high: int, tmp_path: Path) -> None:
    folder = made(tmp_path)
    (tmp_path / "rows").mkdir()
    pq.write_table(joined(folder, low, high), tmp_path / "rows" / "part.parquet")
    found = sums(tmp_path / "rows")
    assert found["rows"] > 0
    for _ in ("reckoned", "kept"):
        assert expected(folder, low, high) == pytest.approx(found, rel=1e-12)


def test_wrong_pairs_fail_loudly(tmp_path: Path) -> None:
    setting = Setting(str(made(tmp_path)), 1, "1g", {"low": 2, "high": 3})
    rows = joined(Path(setting.data), 2, 3)
    (tmp_path / "rows").mkdir()
    file = tmp_path / "rows" / "part.parquet"
    pq.write_table(rows, file)
    join.check(file.parent, setting)
    pq.write_table(rows.slice(1), file)
    with pytest.raises(RunError, match=f"{rows.num_rows - 1:,} pairs came out, and there are {rows.num_rows:,}"):
        join.check(file.parent, setting)
    pq.write_table(rows.set_column(2, "w", rows["v"]), file)
    with pytest.raises(RunError, match="the sum of w over all pairs is"):
        join.check(file.parent, setting)


@pytest.mark.parametrize(("disorder", "slack"), [(0, 1000), (999, 1000), (1000, 1001), (5000, 5001)])
def test_the_slack_is_a_second_unless_rows_are_later(disorder: int, slack: int) -> None:
    assert join.complete(Size(200, 1, 1), {"disorder": disorder})["slack"] == slack


class Fake:
    """Stands for a worker; the result rows of Spark are others."""

    peak_bytes = 1

    def __init__(self, workload: str, name: str, setting: Setting) -> None:
        self.name = name

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ready(self) -> None:
        pass

    def run(self) -> float:
        return 1.0

    def results(self) -> tuple[int, dict[str, float]]:
        return {"millstream": 8}.get(self.name, 7), {}

    def notes(self) -> dict[str, object]:
        return {}


def test_rows_are_those_of_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("millstream_bench.harness.compare.Engine", Fake)
    arguments = ["--rows", "500", "--repeat", "1", "--warm-up", "0", "--json", "--data", str(tmp_path)]
    assert main(["bench", "join", *arguments]) == 0
    own, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert own["rows"] == own["rows_per_s"] == 1000
    assert own["options"] == {
        "keys": 20_000,
        "low": 2,
        "high": 3,
        "disorder": 500,
        "rate": 20_000,
        "rows_per_side": 500,
        "slack": 1000,
    }
    assert last["ratios"] == {}


def test_only_an_engine_with_rows_of_its_own_may_give_other_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream_bench.harness.compare.Engine", Fake)
    monkeypatch.setattr(environment, "installed", lambda: tmp_path)
    options = {choice.name: choice.default for choice in join.WORKLOAD.choices}

    def compared(other: str) -> int:
        names = ["millstream", other]
        size = Size(100, 3, 1)
        return len(compare(join.WORKLOAD, names, size, options, root=tmp_path, repeat=1, warm_up=0, say=lambda _: None))

    assert compared("flink-datagen") == 2
    with pytest.raises(RunError, match="disagree on the number of result rows: millstream 8, spark 7"):
        compared("spark")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "0"], "'0' is not a whole number of at least 1"),
        (["--keys", "none"], "'none' is not a whole number of at least 1"),
        (["--low", "-1"], "'-1' is not a whole number of at least 0"),
        (["--high", "1.5"], "'1.5' is not a whole number of at least 0"),
        (["--rate", "0"], "'0' is not a whole number of at least 1"),
    ],
)
def test_wrong_numbers(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "join", *arguments])
    assert message in capsys.readouterr().err


def test_an_unknown_engine_fails_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "join", "--against", "flonk"]) == 1
    assert "bench join has no engine 'flonk'" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("in_this_process")
def test_join_runs_on_both_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "join", "--against", "spark", "--data", str(tmp_path), *SMALL]) == 0
    own, spark, last = map(json.loads, capsys.readouterr().out.splitlines())
    (folder,) = tmp_path.iterdir()
    assert own["result_rows"] == spark["result_rows"] == joined(folder, 2, 3).num_rows > 0
    assert own["rows"] == spark["rows"] == 40_000
    assert set(last["ratios"]) == {"millstream/spark"}


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.skipif(environment.installed() is None, reason="Flink's environment is not there: make bench-flink")
def test_flink_gives_the_same_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "join", "--against", "flink,flink-datagen", "--data", str(tmp_path), *SMALL]) == 0
    own, flink, generated, _ = map(json.loads, capsys.readouterr().out.splitlines())
    assert own["result_rows"] == flink["result_rows"] > 0
    assert generated["result_rows"] == pytest.approx(own["result_rows"], rel=0.1)
    assert "CSV" in flink["source"]
    assert flink["source_rows_per_s"] > 0
