"""The evaluation of an aggregate over a window, as operators choose it and EXPLAIN prints it."""

from __future__ import annotations

from typing import Any

from millstream.aggregates.contract import Aggregate
from millstream.operators.registry import runner
from millstream.udas.python.aggregate import PromisedAggregate
from millstream.windows.contract import Window


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
    return runner(window).evaluation(aggregate, window)
