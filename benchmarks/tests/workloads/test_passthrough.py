"""The passthrough benchmark: its data, its arguments, its report, and a small run of it."""

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from millstream.cli.main import main
from millstream.errors import RunError, SettingError
from millstream_bench.data.rows import readings
from millstream_bench.harness.compare import compare
from millstream_bench.harness.report import Result, json_lines, ratios, table
from millstream_bench.harness.workload import Size
from millstream_bench.workloads import passthrough

FIELDS = {"bench", "engine", "rows", "seconds", "rows_per_s", "result_rows", "peak_rss_mb", "options"}
MILLSTREAM = Result("passthrough", "millstream", 1000, (2.0, 1.0, 4.0), 800, 3 * 2**20)
SPARK = Result("passthrough", "spark", 1000, (1.0, 1.0, 1.0), 800, 2 * 2**20)


def test_data_has_the_rows_asked_for_and_depends_on_the_seed_only(tmp_path: Path) -> None:
    first = pq.read_table(readings(tmp_path / "a", rows=1003, keys=7, seed=5))
    again = pq.read_table(readings(tmp_path / "b", rows=1003, keys=7, seed=5))
    other = pq.read_table(readings(tmp_path / "a", rows=1003, keys=7, seed=6))
    assert first.num_rows == 1003
    assert first.equals(again)
    assert not first.equals(other)
    assert set(first["k"].to_pylist()) == set(range(7))
    assert [f"{f.name} {f.type}" for f in first.schema] == [
        "ts timestamp[us, tz=UTC]",
        "k int32",
        "v double",
        "note string",
    ]


def test_data_is_made_once(tmp_path: Path) -> None:
    folder = readings(tmp_path, rows=100, keys=3, seed=1, files=4)
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert len(before) == 4
    assert readings(tmp_path, rows=100, keys=3, seed=1, files=4) == folder
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == [folder.name]


def test_the_comma_list_of_engines() -> None:
    assert passthrough.WORKLOAD.chosen("") == ["millstream"]
    assert passthrough.WORKLOAD.chosen(" Spark, spark,") == ["millstream", "spark"]
    with pytest.raises(SettingError, match=r"no engine .sprak.: did you mean .spark.\?"):
        passthrough.WORKLOAD.chosen("sprak")


def test_an_unknown_engine_fails_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "passthrough", "--against", "flonk"]) == 1
    assert "no engine 'flonk': known: spark" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "0"], "'0' is not a whole number of at least 1"),
        (["--repeat", "many"], "'many' is not a whole number of at least 1"),
        (["--warm-up", "-1"], "'-1' is not a whole number of at least 0"),
    ],
)
def test_wrong_numbers(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "passthrough", *arguments])
    assert message in capsys.readouterr().err


def test_the_median_counts() -> None:
    assert MILLSTREAM.to_json() == {
        "bench": "passthrough",
        "engine": "millstream",
        "rows": 1000,
        "seconds": 2.0,
        "rows_per_s": 500,
        "result_rows": 800,
        "peak_rss_mb": 3,
    }


def test_the_last_line_holds_the_ratios() -> None:
    assert ratios([MILLSTREAM, SPARK]) == {"millstream/spark": 0.5}
    lines = [json.loads(line) for line in json_lines([MILLSTREAM, SPARK])]
    assert [line.get("engine") for line in lines] == ["millstream", "spark", None]
    assert lines[-1] == {
        "bench": "passthrough",
        "ratios": {"millstream/spark": 0.5},
        "paired_ratios": {"millstream/spark": 0.5},
    }
    assert json.loads(json_lines([MILLSTREAM])[-1])["ratios"] == {}


def test_the_table_tells_the_spread(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    Console(width=110).print(table([MILLSTREAM, SPARK]))
    shown = capsys.readouterr().out
    for text in ("passthrough: 1,000 rows in, 800 out", "2.00", "4.00", "0.50", "median of 3 runs"):
        assert text in shown


class Fake:
    """Stands for a worker; its result rows are in its name."""

    peak_bytes = 1

    def __init__(self, workload: str, name: str, setting: object) -> None:
        self.name = name

    def __enter__(self) -> "Fake":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ready(self) -> None:
        pass

    def run(self) -> float:
        return 1.0

    def results(self) -> tuple[int, dict[str, float]]:
        return (7 if self.name == "spark" else 8), {}

    def notes(self) -> dict[str, str]:
        return {}


def test_engines_that_disagree_fail_loudly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream_bench.harness.compare.Engine", Fake)
    with pytest.raises(RunError, match="disagree on the number of result rows: millstream 8, spark 7"):
        compare(
            passthrough.WORKLOAD,
            ["millstream", "spark"],
            Size(100, 3, 1),
            {},
            root=tmp_path,
            repeat=1,
            warm_up=0,
            say=lambda _: None,
        )


@pytest.mark.spark
def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--against", "spark", "--rows", "20000", "--repeat", "1", "--warm-up", "0", "--json"]
    assert main(["bench", "passthrough", *arguments, "--data", str(tmp_path)]) == 0
    *engines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [e["engine"] for e in engines] == ["millstream", "spark"]
    made = pq.read_table(next(tmp_path.iterdir()))
    wanted = pc.sum(pc.not_equal(made["note"], "test")).as_py()
    for engine in engines:
        assert set(engine) == FIELDS
        assert engine["rows"] == 20000
        assert engine["result_rows"] == wanted
        assert engine["peak_rss_mb"] > 100
        assert engine["rows_per_s"] > 0
    assert set(last["ratios"]) == {"millstream/spark"}


@pytest.mark.spark
def test_the_error_of_an_engine_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = readings(tmp_path, rows=20, keys=1000, seed=1)
    for file in folder.iterdir():
        file.write_text("this is not Parquet")
    assert main(["bench", "passthrough", "--rows", "20", "--data", str(tmp_path)]) == 1
    assert "engine millstream failed" in capsys.readouterr().err
