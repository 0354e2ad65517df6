"""The bench of windows: both engines do the job, and Millstream also answers the windows open at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest

from millstream.bench.data import tick_rows
from millstream.cli.main import main


def test_ticks_are_seeded_and_late_by_no_more_than_asked_for() -> None:
    rows = tick_rows(0, 1000, keys=5, seed=3, disorder=2)
    assert rows == tick_rows(0, 1000, keys=5, seed=3, disorder=2)
    steps = pc.subtract(rows["ts"].cast("int64"), tick_rows(0, 1000, keys=5, seed=3, disorder=0)["ts"].cast("int64"))
    assert -2000 <= pc.min(steps).as_py() < pc.max(steps).as_py() <= 0


@pytest.mark.spark
def test_sliding_runs_on_both_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "400000", "--keys", "7", "--range", "2", "--repeat", "1", "--warm-up", "0"]
    assert main(["bench", "sliding", "--against", "spark", "--json", "--data", str(tmp_path), *arguments]) == 0
    own, spark, last = map(json.loads, capsys.readouterr().out.splitlines())
    # 4 s of rows: windows of 2 s end at 0+1 .. 4+1; Spark leaves those out that its watermark has not reached.
    assert own["result_rows"] >= spark["result_rows"] > 0
    assert own["result_rows"] % 7 == 0
    assert set(last["ratios"]) == {"millstream/spark"}
