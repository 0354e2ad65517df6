"""The bench of latency: which file covers a window, and a short run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millstream.cli.main import main
from millstream.errors import RunError
from millstream_bench.measures import latency
from millstream_bench.measures.latency import Shape, _account, _micros

SECOND = 1_000_000
SHAPE = Shape(rate=10, keys=1, range=1, slide=1, disorder=99, every=100, seconds=10, warm_up=2)


def test_a_window_is_covered_by_the_first_file_beyond_its_end_and_slack() -> None:
    files = [
        {"handed": int(9.9 * SECOND), "newest": int(9.8 * SECOND)},
        {"handed": int(10.1 * SECOND), "newest": int(10.05 * SECOND)},
        {"handed": int(10.2 * SECOND), "newest": int(10.1 * SECOND)},
        {"handed": int(11.3 * SECOND), "newest": int(10.09 * SECOND)},
    ]
    seen = {7 * SECOND: 7.5, 10 * SECOND: 10.6, 11 * SECOND: 11.7}
    batches = [(9.0, {"addBatch": 900}), (9.6, {"addBatch": 100}), (10.0, {"addBatch": 300})]
    found = _account(SHAPE, files, seen, batches)
    # The first window is warm-up, and no file covers the last one.
    assert found.seconds == (pytest.approx(0.4),)
    assert found.after_end == (pytest.approx(0.6),)
    assert (found.batches, found.batch_millis) == (2, {"addBatch": 200})


def test_nothing_seen() -> None:
    with pytest.raises(RunError, match="saw no result after its warm-up"):
        _account(SHAPE, [{"handed": 1, "newest": 1}], {}, [])


def test_times_in_the_sink() -> None:
    assert _micros(b"1970-01-01T00:00:02") == 2 * SECOND
    assert _micros(b'"1970-01-01T00:00:02.5"') == 2_500_000


def test_a_producer_that_dies_is_told(tmp_path: Path) -> None:
    class Dead:
        def poll(self) -> int:
            return 1

    with pytest.raises(RunError, match="the producer of bench latency ended"):
        latency._watch(tmp_path / "none.csv", 1, Dead())  # type: ignore[arg-type]


def test_wrong_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "latency", "--rate", "0"])
    assert "'0' is not a whole number of at least 1" in capsys.readouterr().err


@pytest.mark.spark
def test_a_short_run(spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "latency", "--rate", "1000", "--seconds", "5", "--warm-up", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["windows"] >= 1
    assert 0 < found["median_s"] <= found["p95_s"] <= found["max_s"] < 60
    assert found["median_batch_ms"]["triggerExecution"] > 0
