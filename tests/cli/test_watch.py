"""Queries that fail are told of at once, and what happens then is as it was asked for. No Spark here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.cli import watch as module
from millstream.cli.watch import Watch
from millstream.errors import RunError


class _Query:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_active = True
        self.failure: str | None = None

    def fail(self, why: str = "out of cheese") -> None:
        self.is_active, self.failure = False, why


class _Mill:
    def __init__(self, once: bool = False) -> None:
        self.once = once
        self.home = SimpleNamespace(spark_log=Path("spark.log"))
        self.queries = [_Query("a"), _Query("b")]
        self.restarted: list[str] = []
        self.refuse: str | None = None

    def restart(self, name: str) -> None:
        if self.refuse:
            raise RunError(self.refuse)
        self.restarted.append(name)
        self.queries = [_Query(name) if q.name == name else q for q in self.queries]


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def made() -> Callable[..., tuple[Any, Watch, list[str], _Clock]]:
    def make(on_failure: str, once: bool = False) -> tuple[Any, Watch, list[str], _Clock]:
        mill, said, clock = _Mill(once), [], _Clock()
        return mill, Watch(mill, on_failure, said.append, clock), said, clock  # type: ignore[arg-type]

    return make


Made = Callable[..., tuple[Any, Watch, list[str], _Clock]]


def test_a_failure_is_told_once_and_the_others_go_on(made: Made) -> None:
    mill, watch, said, _ = made("continue")
    assert watch.look()
    mill.queries[0].fail()
    assert watch.look()
    assert watch.look()
    assert said == ["error: query a failed: out of cheese\nhelp: Spark's own log is spark.log"]
    assert watch.failed
    mill.queries[1].is_active = False
    assert not watch.look()
    assert not watch.gave_up


def test_one_failure_can_stop_all(made: Made) -> None:
    mill, watch, said, _ = made("stop")
    mill.queries[0].fail()
    assert not watch.look()
    assert watch.gave_up
    assert said[0].startswith("error: query a failed: out of cheese; all queries are stopped\n")


def test_it_is_started_again_after_growing_rests(made: Made) -> None:
    mill, watch, said, clock = made("restart")
    rests = []
    for _ in range(8):
        mill.queries[0].fail("cheese\nhelp: buy some")
        assert watch.look()
        rests.append(int(said[-1].splitlines()[2].split()[-2]))
        clock.now += rests[-1] - 0.1
        watch.look()
        before = len(mill.restarted)
        clock.now += 0.2
        watch.look()
        assert len(mill.restarted) == before + 1
        assert not watch.failed
    assert rests == [1, 2, 4, 8, 16, 32, 60, 60]
    clock.now += 400
    mill.queries[0].fail()
    watch.look()
    assert "out of cheese; it is started again in 1 s" in said[-1]


def test_a_start_that_fails_counts_as_a_failure(made: Made) -> None:
    mill, watch, said, clock = made("restart")
    mill.queries[0].fail()
    watch.look()
    mill.refuse = "error: no such folder"
    clock.now += 1
    assert watch.look()
    assert said[-1].startswith("error: query a failed: no such folder; it is started again in 2 s\n")
    assert watch.failed


def test_what_fails_for_good_comes_to_an_end_over_what_is_there(made: Made) -> None:
    mill, watch, said, clock = made("restart", once=True)
    mill.queries[1].is_active = False
    for _ in range(6):
        mill.queries[0].fail()
        watch.look()
        clock.now += 100
        watch.look()
    assert mill.restarted == ["a"] * 5
    assert not watch.look()
    assert watch.failed
    assert "out of cheese; it is left alone now" in said[-1]


def test_the_end_of_sparks_process_is_one_sentence(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    mill, watch, said, _ = made("restart")
    monkeypatch.setattr(module, "is_lost", lambda: True)
    monkeypatch.setattr(module, "last_word", lambda: "Spark's process was ended by SIGKILL")
    for query in mill.queries:
        query.fail()
    assert not watch.look()
    assert not watch.look()
    assert said == ["error: Spark's process was ended by SIGKILL\nhelp: Spark's own log is spark.log"]
    assert watch.gave_up
