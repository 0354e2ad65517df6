"""Which evaluation computes an aggregate over a window: the operators follow these rules, and EXPLAIN tells them."""

from __future__ import annotations

from typing import Any

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.evaluation import over_frames, over_panes
from millstream.aggregates.user.sql_aggregate import SqlAggregate
from millstream.windows.contract import Window
from millstream.windows.landmark import Landmark
from millstream.windows.over import Over
from millstream.windows.panes import Paned
from millstream.windows.session import Session


def evaluation(aggregate: Aggregate, window: Window[Any]) -> str:
    """The name of the evaluation.

    >>> import pyarrow as pa
    >>> from millstream.aggregates.registry import find
    >>> from millstream.windows import OverRows, Sliding
    >>> total, largest = (find(name)([pa.int64()]) for name in ("sum", "max"))
    >>> [evaluation(a, Sliding(10, 2)) for a in (total, largest)]
    ['running total', 'two stacks']
    >>> evaluation(largest, OverRows(9))
    'merge tree'
    """
    if isinstance(window, Landmark):
        return "running total"  # nothing ever leaves, so there is nothing to remove
    if isinstance(window, Paned):
        return over_panes(aggregate)
    if isinstance(window, Session):
        return "merged fragments"
    if isinstance(window, Over) and isinstance(aggregate, SqlAggregate):
        return "tuple by tuple"
    return over_frames(aggregate)
