"""The bench of standing queries: its rules, and a small run in which both engines agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from millstream.cli.main import main
from millstream_bench.data.rules import RULE_SETS, rules


@pytest.mark.parametrize("name", list(RULE_SETS))
@pytest.mark.parametrize("count", [100, 5000])
def test_rules_are_met_as_often_as_asked(name: str, count: int) -> None:
    made = rules(name, count, keys=50, seed=3, hits=200)
    assert made == rules(name, count, keys=50, seed=3, hits=200)
    random = np.random.default_rng(1)
    values, keys = random.random((2000, 1)), random.integers(0, 50, (2000, 1))
    if name == "prefix":
        heads = set(made["head"].to_pylist())
        digits = len(min(heads)) - 2
        met = sum(f"{value:.17f}"[: digits + 2] in heads for value in values[:, 0].tolist())
        assert 400 / 3.2 < met < 400 * 3.2, "whole digits alone can be asked for"
        return
    held = values >= made["low"].to_numpy()
    if "high" in made.column_names:
        held &= values <= made["high"].to_numpy()
    if "item" in made.column_names:
        held &= keys == made["item"].to_numpy()
    assert 300 < held.sum() < 500


@pytest.mark.spark
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("name", list(RULE_SETS))
def test_a_small_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--rows", "5000", "--repeat", "1", "--warm-up", "0", "--json", "--data", str(tmp_path), "--rules", name]
    assert main(["bench", "standing", "--registrations", "30", *small]) == 0
    ours, theirs, ratios = map(json.loads, capsys.readouterr().out.splitlines())
    assert (ours["engine"], theirs["engine"]) == ("millstream", "spark")
    assert ours["result_rows"] == theirs["result_rows"] > 100
    assert ours["1000_statements_s"] > 0
    assert list(ratios["ratios"]) == ["millstream/spark"]
