"""The bench of windows: all engines do the job and agree, and Millstream also answers the windows open at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from millstream.cli.main import main
from millstream.errors import RunError
from millstream_bench.data.csv_parts import csv_parts
from millstream_bench.data.rows import START_MICROS, tick_rows, ticks
from millstream_bench.flink import environment
from millstream_bench.harness.compare import compare
from millstream_bench.harness.workload import Setting, Size, Workload
from millstream_bench.workloads import sliding

SMALL = ["--keys", "7", "--range", "2", "--repeat", "1", "--warm-up", "0", "--json"]
OPTIONS = {"rows": 500, "rate": 100, "disorder": 0, "range": 1, "slide": 1, "keys": 2}


def test_ticks_are_seeded_and_late_by_no_more_than_asked_for() -> None:
    rows = tick_rows(0, 1000, keys=5, seed=3, disorder=2, rate=100)
    assert rows == tick_rows(0, 1000, keys=5, seed=3, disorder=2, rate=100)
    sorted_ = tick_rows(0, 1000, keys=5, seed=3, disorder=0, rate=100)
    steps = pc.subtract(rows["ts"].cast("int64"), sorted_["ts"].cast("int64"))
    assert -2000 <= pc.min(steps).as_py() < pc.max(steps).as_py() <= 0


def test_the_rate_spreads_the_rows() -> None:
    times = tick_rows(0, 301, keys=5, seed=3, disorder=0, rate=100)["ts"].cast("int64")
    assert pc.max(times).as_py() - pc.min(times).as_py() == 3_000_000


@pytest.mark.parametrize(
    ("rows", "range_", "asked", "rate"),
    [(10_000_000, 10, 0, 100_000), (10_000_000, 600, 0, 5555), (10, 600, 0, 1), (10_000_000, 600, 7, 7)],
)
def test_data_lasts_three_times_the_range_unless_a_rate_is_asked_for(
    rows: int, range_: int, asked: int, rate: int
) -> None:
    assert sliding.complete(Size(rows, 1, 1), {"range": range_, "rate": asked})["rate"] == rate


def test_the_same_rows_as_csv_dealt_out(tmp_path: Path) -> None:
    folder = ticks(tmp_path, rows=101, keys=3, seed=1, disorder=5, rate=10, files=4)
    dealt = csv_parts(folder, 2, "us")
    assert csv_parts(folder, 2, "us") == dealt
    layout = pa.csv.ReadOptions(column_names=["ts", "k", "v"])
    parts = [pa.csv.read_csv(file, read_options=layout) for file in sorted(dealt.iterdir())]
    assert abs(parts[0].num_rows - parts[1].num_rows) <= 4
    wanted = pq.read_table(folder)
    wanted = wanted.set_column(0, "ts", wanted["ts"].cast("int64")).cast(
        pa.schema([("ts", "int64"), ("k", "int64"), ("v", "float64")])
    )
    assert pa.concat_tables(parts).sort_by([("ts", "ascending"), ("v", "ascending")]) == wanted.sort_by(
        [("ts", "ascending"), ("v", "ascending")]
    )


def test_only_windows_that_all_answer_are_summed(tmp_path: Path) -> None:
    ends = [START_MICROS + s * 1_000_000 for s in (1, 4, 5, 6)]
    rows = pa.table({"window_end": pa.array(ends, pa.timestamp("us", "UTC")), "n": [1, 2, 3, 4]})
    rows = rows.append_column("high", pa.array([0.5] * 4)).append_column("total", pa.array([1.0] * 4))
    pq.write_table(rows, tmp_path / "part.parquet")
    # The last of 500 rows is at 4.99 s: the watermark has passed 4 s.
    sums = sliding.digest(tmp_path, Setting("", 1, "1g", OPTIONS))
    assert list(sums.values()) == [2, 3, 1.0, 2.0]


class Fake:
    """Stands for a worker; the second one adds up otherwise."""

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
        return 1, {"total": {"millstream": 3.0, "spark": 3.0 + 1e-12}.get(self.name, 4.0)}

    def notes(self) -> dict[str, object]:
        return {"source_rows_per_s": 5} if self.name == "flink-datagen" else {}


def compared(workload: Workload, tmp_path: Path, *names: str) -> list[str]:
    options = {choice.name: choice.default for choice in workload.choices}
    results = compare(
        workload,
        ["millstream", *names],
        Size(100, 3, 1),
        options,
        root=tmp_path,
        repeat=1,
        warm_up=0,
        say=lambda _: None,
    )
    return [json.dumps(result.to_json()) for result in results]


def test_engines_whose_sums_differ_fail_loudly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream_bench.harness.compare.Engine", Fake)
    monkeypatch.setattr(environment, "installed", lambda: tmp_path)
    assert len(compared(sliding.WORKLOAD, tmp_path, "spark")) == 2
    *_, last = compared(sliding.WORKLOAD, tmp_path, "flink-datagen")
    assert json.loads(last)["source_rows_per_s"] == 5
    assert json.loads(last)["options"]["rate"] == 3
    with pytest.raises(RunError, match=r"disagree on total: millstream 3\.0, flink 4\.0"):
        compared(sliding.WORKLOAD, tmp_path, "flink")


def test_a_window_has_a_length(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "sliding", "--range", "0"])
    assert "'0' is not a whole number of at least 1" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.usefixtures("in_this_process")
def test_sliding_runs_on_both_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "40000", "--rate", "10000", "--against", "spark", "--data", str(tmp_path), *SMALL]
    assert main(["bench", "sliding", *arguments]) == 0
    own, spark, last = map(json.loads, capsys.readouterr().out.splitlines())
    # 4 s of rows: windows of 2 s end at 0+1 .. 4+1; Spark leaves those out that its watermark has not reached.
    assert own["result_rows"] >= spark["result_rows"] > 0
    assert own["result_rows"] % 7 == 0
    assert set(last["ratios"]) == {"millstream/spark"}


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.skipif(environment.installed() is None, reason="Flink's environment is not there: make bench-flink")
def test_flink_gives_the_same_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "100000", "--against", "flink,flink-datagen", "--data", str(tmp_path), *SMALL]
    assert main(["bench", "sliding", *arguments]) == 0
    own, flink, generated, _ = map(json.loads, capsys.readouterr().out.splitlines())
    assert own["result_rows"] == flink["result_rows"] > 0
    assert generated["result_rows"] > 0
    assert "CSV" in flink["source"]
    assert flink["source_rows_per_s"] > 0
