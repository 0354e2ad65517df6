"""The benchmark of the soccer match."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.cli.main import main
from millstream_bench.measures.debs_delay import _delays


def test_a_delay_runs_from_the_file_with_the_latest_event_to_the_result(tmp_path: Path) -> None:
    sink = tmp_path / "team_1"
    sink.mkdir()
    ends = pa.array([2_000_000, 3_000_000, 3_000_000, 99_000_000], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": ends}), sink / "a.parquet")
    os.utime(sink / "a.parquet", (50.0, 50.0))
    newest = [999_999, 1_999_999, 2_999_999]
    found = _delays(sink, newest, [41.0, 42.0, 44.0], first=0.0)
    assert found.sink == "team_1"
    assert sorted(found.seconds) == [6.0, 8.0]  # one for each window, none for what was not handed over
    assert _delays(sink, newest, [41.0, 42.0, 44.0], first=43.0).seconds == (6.0,)


def test_a_shot_is_as_old_as_its_own_event(tmp_path: Path) -> None:
    sink = tmp_path / "shots"
    sink.mkdir()
    pq.write_table(pa.table({"ts": pa.array([1_500_000 * 10**6], pa.int64())}), sink / "a.parquet")
    os.utime(sink / "a.parquet", (50.0, 50.0))
    assert _delays(sink, [999_999, 1_999_999], [41.0, 42.0], first=0.0).seconds == (8.0,)


@pytest.mark.spark
def test_speeds_are_told(spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--minutes", "0.1", "--queries", "q4", "--warm-up", "0", "--data", str(tmp_path), "--json"]
    assert main(["bench", "debs", *given]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    assert (said["queries"], said["sinks"]) == (["q4"], "noop")
    assert said["events_per_s"] == pytest.approx(said["events"] / said["seconds"], rel=0.01)
    assert said["peak_rss_mb"] > 100


def test_unknown_queries_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "debs", "--queries", "q9"]) == 1
    assert "bench debs has no 'q9'" in capsys.readouterr().err
