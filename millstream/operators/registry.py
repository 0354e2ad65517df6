"""Which operator computes a kind of window: one entry per kind, and an error by name for a kind without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.evaluation import over_frames, over_panes
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.ordered.row_windows import RowWindows
from millstream.operators.ordered.session_windows import SessionWindows
from millstream.operators.ordered.slide_by_tuple import SlideByTupleWindows
from millstream.operators.over.calls import over_operator
from millstream.operators.over.over_aggregate_job import OverAggregateJob
from millstream.operators.over.pane_of_rows import pane_of_rows
from millstream.operators.panes.finer_panes import FinerPanes
from millstream.operators.panes.from_first import FromFirst
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.udas.sql_aggregate import SqlAggregate
from millstream.windows.contract import Window
from millstream.windows.cumulate import Cumulate
from millstream.windows.landmark import Landmark
from millstream.windows.over import Over
from millstream.windows.over_range import OverRange
from millstream.windows.over_rows import OverRows
from millstream.windows.rows import Rows
from millstream.windows.session import Session
from millstream.windows.slide_by_tuple import SlideByTuple
from millstream.windows.sliding import Sliding
from millstream.windows.whole import Whole

Make = Callable[[Any, Blobs], Operator]
"""The operator of one bucket, for a `WindowAggregateJob` or, of OVER, a `OverAggregateJob`."""


@dataclass(frozen=True)
class Runner:
    """How the windows of a kind are computed.

    `evaluation` names the way in which the states of an aggregate become answers. `partial` is what can be done with
    tuples before they go to their buckets. `from_first` makes the operator where windows begin at the first tuple.
    `format` is the version of the blobs of all these operators.
    """

    make: Make
    evaluation: Callable[[Aggregate, Any], str]
    partial: Callable[[WindowAggregateJob, pa.Table], pa.Table] | None = None
    from_first: Make | None = None
    format: int = 1


def _over(work: OverAggregateJob, blobs: Blobs) -> Operator:
    return over_operator(work)(work, blobs)


def _frames(aggregate: Aggregate, window: Over) -> str:
    if not isinstance(aggregate, SqlAggregate):
        return over_frames(aggregate)
    return "tuple by tuple" if pane_of_rows(aggregate, window) is None else "panes of rows"


def _panes(aggregate: Aggregate, window: Window[Any]) -> str:
    return over_panes(aggregate)


def _tuples(aggregate: Aggregate, window: Window[Any]) -> str:
    return over_frames(aggregate)


def _growing(aggregate: Aggregate, window: Window[Any]) -> str:
    return "running total"  # nothing ever leaves, so there is nothing to remove


def _merging(aggregate: Aggregate, window: Window[Any]) -> str:
    return "merged fragments"


RUNNERS: Mapping[type[Window[Any]], Runner] = {
    Sliding: Runner(PanedAggregate, _panes, partial_states, FromFirst),
    Cumulate: Runner(PanedAggregate, _panes, partial_states, FromFirst),
    Landmark: Runner(PanedAggregate, _growing, partial_states, FromFirst),
    Whole: Runner(PanedAggregate, _panes, partial_states),
    Rows: Runner(RowWindows, _tuples),
    SlideByTuple: Runner(SlideByTupleWindows, _tuples),
    Session: Runner(SessionWindows, _merging),
    OverRange: Runner(_over, _frames),
    OverRows: Runner(_over, _frames),
}


def runner(window: Window[Any]) -> Runner:
    """How a window is computed.

    >>> runner(Session(10)).make.__name__
    'SessionWindows'
    """
    found = RUNNERS.get(type(window.coarse if isinstance(window, FinerPanes) else window))
    if found is None:
        raise NotImplementedError(f"no operator in operators/registry.py computes {type(window).__name__}")
    return found
