"""The bench of state: what is kept depends on panes and keys, not on tuples."""

from __future__ import annotations

import json

import pytest

from millstream.cli.main import main
from millstream_bench.measures.state import Shape, measure

pytestmark = pytest.mark.slow


def test_state_does_not_grow_with_tuples() -> None:
    sparse, dense = (measure(Shape(30, 1, 50, tuples)) for tuples in (1, 10))
    assert dense.tuples == 10 * sparse.tuples == 10 * 60 * 50
    assert dense.panes == sparse.panes == 30
    assert dense.blob_bytes == pytest.approx(sparse.blob_bytes, rel=0.05)
    assert dense.answers == sparse.answers


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--range", "20", "--slide", "2", "--keys", "5"]
    assert main(["bench", "state", *arguments, "--tuples", "1,2", "--json"]) == 0
    one, two = map(json.loads, capsys.readouterr().out.splitlines())
    assert (one["tuples_per_key_and_s"], two["tuples_per_key_and_s"]) == (1, 2)
    assert one["panes"] == 10
    assert two["window_tuples"] == 200
    assert main(["bench", "state", *arguments, "--tuples", "1"]) == 0
    assert "blob bytes" in capsys.readouterr().out


def test_wrong_densities(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "state", "--tuples", "1,none"])
    assert "'none' is not a whole number of at least 1" in capsys.readouterr().err
