"""The bench of idle waiting: what is counted of a run, and a short one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from millstream.cli.main import main
from millstream.errors import RunError
from millstream_bench.measures import idle, idle_producer
from millstream_bench.measures.idle import Answer, Arrival, Batch, Run, Shape, account

SHAPE = Shape(fast=10, slow=0.1, window=1, seconds=10, warm_up=0)

BATCHES = [Batch(10.2 + i, fast=10, marks=i % 2) for i in range(10)]
"""One a second, from 10.2 on: its tuples are in the window that ends at 11, and so on."""


def test_answers_that_come_at_once_do_not_wait() -> None:
    answers = [Answer(float(end), 1, 10, end + 0.5) for end in range(11, 20)]
    arrivals = [Arrival(10.1 + i, 10) for i in range(10)]
    found = account(SHAPE, "on demand", Run(10.0, 20.0, arrivals, answers, BATCHES))
    assert (found.answers, found.batches, found.marks) == (9, 10, 5)
    assert found.mean_delay == pytest.approx(0.5)
    assert found.p99_delay == pytest.approx(0.5)
    assert found.idle_share == 0.0
    assert found.largest_burst == 1
    assert found.peak_tuples == 20
    assert found.peak_moments == 1


def test_answers_that_are_held_back_come_in_bursts() -> None:
    """The batch of 15.2 brings the slow stream forward: it answers the windows that end at 11 to 15."""
    answers = [Answer(float(end), 1, 10, 15.5) for end in range(11, 16)]
    arrivals = [Arrival(10.1 + i, 10) for i in range(10)]
    found = account(SHAPE, "none", Run(10.0, 20.0, arrivals, answers, BATCHES))
    assert found.mean_delay == pytest.approx(2.5)
    assert found.p99_delay == pytest.approx(4.5)
    # From 11.2, when the fast stream had passed the first window, to 15.2, and again from 16.2 to the end.
    assert found.idle_share == pytest.approx(0.4 + 0.38)
    assert found.largest_burst == 5
    assert found.peak_tuples == 60
    assert found.peak_moments == 5


def test_no_answers_at_all_are_no_error() -> None:
    found = account(SHAPE, "none", Run(10.0, 20.0, [Arrival(10.1, 10)], [], BATCHES)).to_json()
    assert (found["answers"], found["mean_delay_s"], found["p99_delay_s"], found["largest_burst"]) == (0, None, None, 0)
    assert found["idle_share"] == pytest.approx(0.88)
    assert found["peak_tuples"] == 10
    assert found["peak_moments"] == 10


def test_of_merged_tuples_each_time_stamp_is_a_moment() -> None:
    shape = Shape(fast=10, slow=0.1, window=1, seconds=10, warm_up=0, query="merge")
    # Stamps are a little later than the beginning that Spark tells; each batch gives the tuples of the one before.
    answers = [Answer(b.begun + 0.05, 10, 10, b.begun + 1.5) for b in BATCHES[:-1]]
    found = account(shape, "1 second", Run(10.0, 20.0, [], answers, BATCHES))
    assert (found.answers, found.largest_burst, found.idle_share) == (90, 10, 0.0)
    assert found.mean_delay == pytest.approx(1.45)


def test_a_window_from_before_the_warm_up_counts_when_it_is_read() -> None:
    found = account(SHAPE, "none", Run(15.0, 20.0, [], [Answer(11.0, 1, 5, 14.0), Answer(12.0, 1, 5, 16.0)], BATCHES))
    assert (found.answers, found.mean_delay) == (1, 4.0)


def test_the_script_asks_for_both_streams() -> None:
    for query, words in (("count", "UNION ALL"), ("merge", "MERGE ORDERED")):
        text = idle.script(Shape(1, 1, 2, 1, 0, query), "5 seconds")
        assert words in text
        assert "SET heartbeats = '5 seconds'" in text


def test_a_producer_that_dies_is_told(tmp_path: Path) -> None:
    class Dead:
        def poll(self) -> int:
            return 1

    with pytest.raises(RunError, match="the producer of bench idle ended"):
        idle._watch(tmp_path / "none.csv", float("inf"), Dead())  # type: ignore[arg-type]


def test_the_producer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, *(step / 20 for step in range(1, 1000))])
    now = {"at": 0.0}

    class Over(Exception):
        pass

    def sleep(_: float) -> None:
        now["at"] = next(clock)
        if now["at"] > 1.0:
            raise Over

    monkeypatch.setattr(time, "time", lambda: now["at"])
    monkeypatch.setattr(time, "sleep", sleep)
    for name in ("fast", "slow"):
        (tmp_path / name).mkdir()
    with pytest.raises(Over):
        idle_producer.produce(tmp_path, tmp_path / "log", rates={"fast": 100, "slow": 2}, every=50)
    files = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    passed = {name: sum(f["passed"] for f in files if f["stream"] == name) for name in ("fast", "slow")}
    assert 80 < passed["fast"] <= 101
    assert len(list((tmp_path / "slow").iterdir())) == 3


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--slow", "0"], "'0' is not a number above 0"),
        (["--fast", "many"], "'many' is not a number above 0"),
        (["--heartbeats", "none,often"], "a kind of heartbeats is 'on demand', 'none', or a length of time"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "idle", *arguments])
    assert problem in " ".join(capsys.readouterr().err.split())


def test_an_unknown_query(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "idle", "--queries", "counts"]) != 0
    assert "bench idle has no 'counts'" in capsys.readouterr().err


@pytest.mark.spark
def test_a_short_run(spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    """The slow stream brings one row, at the start: without heartbeats what comes after that is not answered."""
    options = ["--slow", "0.001", "--seconds", "5", "--warm-up", "1", "--heartbeats", "none,on demand"]
    assert main(["bench", "idle", *options, "--json"]) == 0
    never, demand = map(json.loads, capsys.readouterr().out.splitlines())
    assert (never["heartbeats"], demand["heartbeats"]) == ("none", "on demand")
    assert (never["answers"], never["mean_delay_s"], never["largest_burst"], never["marks"]) == (0, None, 0, 0)
    assert never["peak_tuples"] > 200 * 0.9 * 5
    assert never["batches"] > 0
    assert demand["answers"] > 0
    assert demand["marks"] > 0
    assert 0 < demand["mean_delay_s"] <= demand["p99_delay_s"]
    assert 0 <= demand["idle_share"] <= never["idle_share"] <= 1


@pytest.mark.spark
def test_a_short_run_in_order(spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--seconds", "4", "--warm-up", "0", "--heartbeats", "1 second", "--queries", "merge"]
    assert main(["bench", "idle", *options]) == 0
    shown = capsys.readouterr().out
    assert "merge, heartbeats" in shown
    assert "1 second" in shown
    assert "mean delay s" in shown
