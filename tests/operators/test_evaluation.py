"""EXPLAIN names the evaluations that the operators choose."""

from __future__ import annotations

import pytest

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.evaluation import over_frames
from millstream.aggregates.registry import BUILT_IN
from millstream.operators.evaluation import evaluation
from millstream.windows import Landmark, OverRange, OverRows, Rows, Session, SlideByTuple
from tests.aggregates.arguments import bindings

every_binding = pytest.mark.parametrize(
    "aggregate", [cls(kinds) for cls in BUILT_IN for kinds in bindings(cls)], ids=lambda a: f"{a.name}({a.arguments})"
)


@every_binding
def test_windows_of_tuples(aggregate: Aggregate) -> None:
    for window in (OverRange(5), OverRows(5), Rows(5, 5), SlideByTuple(5)):
        assert evaluation(aggregate, window) == over_frames(aggregate)


@every_binding
def test_windows_that_only_grow(aggregate: Aggregate) -> None:
    assert evaluation(aggregate, Landmark(5)) == "running total"
    assert evaluation(aggregate, Session(5)) == "merged fragments"
