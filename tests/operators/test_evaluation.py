"""EXPLAIN names the evaluations that the operators choose."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.evaluation import over_frames
from millstream.aggregates.registry import BUILT_IN
from millstream.operators.evaluation import evaluation
from millstream.windows import Landmark, OverRange, OverRows, Rows, Session, SlideByTuple

TYPES = {"bool_and": pa.bool_(), "bool_or": pa.bool_(), "string_agg": pa.string()}


def instance(cls: type[Aggregate]) -> Aggregate:
    return cls([TYPES.get(cls.name, pa.float64())] * cls.arity)


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
def test_windows_of_tuples(cls: type[Aggregate]) -> None:
    aggregate = instance(cls)
    for window in (OverRange(5), OverRows(5), Rows(5, 5), SlideByTuple(5)):
        assert evaluation(aggregate, window) == over_frames(aggregate)


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
def test_windows_that_only_grow(cls: type[Aggregate]) -> None:
    assert evaluation(instance(cls), Landmark(5)) == "running total"
    assert evaluation(instance(cls), Session(5)) == "merged fragments"
