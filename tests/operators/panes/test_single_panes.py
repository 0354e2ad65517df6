"""Windows of one pane each equal the oracle `extent()`, however many of them are answered together."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import BUILT_IN
from millstream.operators.blobs import MemoryBlobs
from millstream.operators.panes import single_panes
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.emit import Emit, Pace
from millstream.windows.sliding import Sliding
from tests.drawing import drawn
from tests.operators.harness import KEYS, NUMBERS, Case, check, numbers, table, tuples_for

APART = st.builds(
    lambda length, times, origin: Sliding(length, length * times, origin),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(-3, 3),
)
"""Tumbling windows, and some with gaps between them."""


@drawn(100)
@given(
    data=st.data(),
    window=APART,
    keys=st.sampled_from([KEYS, ()]),
    emit=st.none() | st.sampled_from([Emit(Pace.EVENT, 2), Emit(Pace.CHANGE), Emit(Pace.WALL, 1)]),
    few=st.sampled_from([0, 1, 3, 1000]),
    enough=st.sampled_from([1, 5, 1000]),
)
def test_equals_the_oracle(
    data: st.DataObject, window: Sliding, keys: object, emit: Emit | None, few: int, enough: int
) -> None:
    with patch.object(single_panes, "FEW", few), patch.object(single_panes, "ENOUGH_STATES", enough):
        check(Case(WindowAggregateJob(keys, NUMBERS, window, emit=emit), data.draw(numbers())), data)


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
@drawn(15)
@given(data=st.data())
def test_every_aggregate(cls: type[Aggregate], data: st.DataObject) -> None:
    calls, rows = data.draw(tuples_for(cls))
    check(Case(WindowAggregateJob(KEYS, calls, data.draw(APART)), rows), data)


def test_windows_with_little_are_answered_together_and_large_ones_alone() -> None:
    job = WindowAggregateJob(KEYS, NUMBERS, Sliding(10, 10))
    operator = PanedAggregate(job, MemoryBlobs())
    rows = [(time, key, 1, True) for time, key in [(1, "a"), (11, "a"), (21, "a"), (22, "b"), (31, "a"), (41, "b")]]
    operator.process(partial_states(job, table(rows)))
    with patch.object(single_panes, "FEW", 1):
        found = [answers["window_start"].cast("int64").to_pylist() for answers in operator.punctuate(Punctuation(60))]
    assert found == [[0, 10], [20, 20], [30, 40]]
