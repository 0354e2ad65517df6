"""The bench of disorder: both ways answer alike, and to enforce order never takes less."""

from __future__ import annotations

import json

import numpy as np
import pytest

from millstream.cli.main import main
from millstream.errors import RunError, SettingError
from millstream_bench.measures import oop
from millstream_bench.measures.oop import Kept, Peaks, Shape, measure

pytestmark = pytest.mark.slow

SHAPE = Shape(rows=2_400, seconds=40, range=4, slide=2, keys=5)
SKEWS = (0, 1, 5, 10)


@pytest.fixture(scope="module")
def found() -> dict[str, list[Kept]]:
    every = list(measure(SHAPE, SKEWS, lambda _: None))
    return {query: [kept for kept in every if kept.query == query] for query in oop.QUERIES}


def test_every_query_at_every_skew(found: dict[str, list[Kept]]) -> None:
    for kepts in found.values():
        assert [kept.skew for kept in kepts] == list(SKEWS)
        assert len({kept.answers for kept in kepts}) == 1, "what is answered does not depend on who is late"
        assert kepts[0].answers > 0


def test_to_enforce_order_never_takes_less(found: dict[str, list[Kept]]) -> None:
    for kept in (kept for kepts in found.values() for kept in kepts):
        assert kept.in_order.stored >= kept.out_of_order.stored, kept
        assert kept.in_order.bytes >= kept.out_of_order.bytes, kept


def test_a_count_without_order_holds_no_tuples(found: dict[str, list[Kept]]) -> None:
    rate = SHAPE.rows // 2 // SHAPE.seconds
    for kept in found["count"]:
        panes = (SHAPE.range + kept.skew) // SHAPE.slide + 2
        assert kept.out_of_order.tuples == 0
        assert kept.out_of_order.states <= panes * SHAPE.keys
        assert kept.in_order.tuples >= rate * kept.skew


def test_a_join_of_unions_holds_the_same_tuples_elsewhere(found: dict[str, list[Kept]]) -> None:
    for kept in found["join"]:
        assert kept.in_order.tuples == kept.out_of_order.tuples


def test_few_late_tuples_cost_a_join_more_if_it_wants_order(found: dict[str, list[Kept]]) -> None:
    last = found["join-late"][-1]
    assert last.in_order.tuples > 1.2 * last.out_of_order.tuples


def test_count_against_numpy() -> None:
    inputs = oop._union(SHAPE, 3)
    stage = oop.WindowCount(SHAPE)
    oop.drive(stage, inputs)
    times = np.concatenate([one.tuples["__time"].to_numpy() for one in inputs])
    for end, total in zip(*_totals(stage.answers), strict=True):
        assert total == ((times >= end - SHAPE.range * oop.SECOND) & (times < end)).sum()
    assert int(stage.answers[:, 2].sum()) == len(times) * SHAPE.range // SHAPE.slide


def _totals(answers: oop.Answers) -> tuple[list[int], list[int]]:
    ends = np.unique(answers[:, 0])
    return ends.tolist(), [int(answers[answers[:, 0] == end, 2].sum()) for end in ends]


def test_ways_that_differ_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oop.InOrder, "answers", property(lambda _: np.empty((0, 3), dtype=np.int64)))
    with pytest.raises(RunError, match="count with 1 s of skew answers differently"):
        next(measure(SHAPE, (1,), lambda _: None))


def test_too_much_skew() -> None:
    with pytest.raises(SettingError, match="a skew of 37 s and a window do not fit into 40 s"):
        next(measure(SHAPE, (1, 37), lambda _: None))


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "oop", "--rows", "400", "--seconds", "20", "--range", "2", "--slide", "2", "--keys", "2"]
    assert main([*arguments, "--skew", "0,4", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["query"], line["skew"]) for line in lines] == [(q, s) for q in oop.QUERIES for s in (0, 4)]
    assert lines[0]["out_of_order"].keys() == set(Peaks._fields)
    assert main([*arguments, "--skew", "1"]) == 0
    assert "in order" in capsys.readouterr().out


def test_wrong_lags(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "oop", "--skew", "1,-1"])
    assert "'-1' is not a whole number of at least 0" in capsys.readouterr().err
