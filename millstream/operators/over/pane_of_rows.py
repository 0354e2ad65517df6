"""The length of the panes of rows that a frame can be made of."""

from __future__ import annotations

import math

from millstream.aggregates.contract import Aggregate
from millstream.udas.sql_aggregate import SqlAggregate
from millstream.windows.over import Over


def pane_of_rows(aggregate: Aggregate, window: Over) -> int | None:
    """How many tuples the panes of OVER (ROWS ... SLIDE ...) have, None if tuples are not to be kept as panes.

    That takes an ALGEBRAIC aggregate, and a window and a slide that have a measure in common.
    """
    if window.by_time or window.reach is None:
        return None
    if not (isinstance(aggregate, SqlAggregate) and aggregate.algebraic):
        return None
    pane = math.gcd(window.reach + 1, window.every)
    return pane if pane > 1 else None
