"""Which evaluation computes an aggregate over a window: the operators follow these rules, and EXPLAIN tells them."""

from __future__ import annotations

import math
from typing import Any

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.evaluation import over_frames, over_panes
from millstream.udas.python.aggregate import PromisedAggregate
from millstream.udas.sql_aggregate import SqlAggregate
from millstream.windows.contract import Window
from millstream.windows.landmark import Landmark
from millstream.windows.over import Over, OverRows
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
    if isinstance(aggregate, PromisedAggregate):
        return "as its class can"
    if isinstance(window, Landmark):
        return "running total"  # nothing ever leaves, so there is nothing to remove
    if isinstance(window, Paned):
        return over_panes(aggregate)
    if isinstance(window, Session):
        return "merged fragments"
    if isinstance(window, Over) and isinstance(aggregate, SqlAggregate):
        return "tuple by tuple" if pane_of_rows(aggregate, window) is None else "panes of rows"
    return over_frames(aggregate)


def pane_of_rows(aggregate: Aggregate, window: Window[Any]) -> int | None:
    """How many tuples the panes of OVER (ROWS ... SLIDE ...) have, None if tuples are not to be kept as panes.

    That takes an ALGEBRAIC aggregate, and a window and a slide that have a measure in common.
    """
    if not (isinstance(window, OverRows) and isinstance(aggregate, SqlAggregate) and aggregate.algebraic):
        return None
    if window.preceding is None:
        return None
    pane = math.gcd(window.preceding + 1, window.slide)
    return pane if pane > 1 else None
