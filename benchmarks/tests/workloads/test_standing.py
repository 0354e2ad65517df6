"""The bench of standing queries: its rules, and a small run in which both engines agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from millstream.cli.main import main
from millstream_bench.data.rules import rules


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("count", [100, 5000])
def test_rules_are_met_as_often_as_asked(ranges: bool, count: int) -> None:
    made = rules(count, keys=50, seed=3, hits=200, ranges=ranges)
    assert made == rules(count, keys=50, seed=3, hits=200, ranges=ranges)
    random = np.random.default_rng(1)
    values, keys = random.random((2000, 1)), random.integers(0, 50, (2000, 1))
    met = (values >= made["low"].to_numpy()) & (values <= made["high"].to_numpy())
    if not ranges:
        met &= keys == made["k"].to_numpy()
    assert 300 < met.sum() < 500


@pytest.mark.spark
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("ranges", ["0", "1"])
def test_a_small_run(ranges: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--rows", "5000", "--repeat", "1", "--warm-up", "0", "--json", "--data", str(tmp_path), "--ranges", ranges]
    assert main(["bench", "standing", "--registrations", "30", *small]) == 0
    ours, theirs, ratios = map(json.loads, capsys.readouterr().out.splitlines())
    assert (ours["engine"], theirs["engine"]) == ("millstream", "spark")
    assert ours["result_rows"] == theirs["result_rows"] > 100
    assert ours["1000_statements_s"] > 0
    assert list(ratios["ratios"]) == ["millstream/spark"]
