"""How the states of overlapping windows follow from each other: what an aggregate can do decides."""

from __future__ import annotations

from millstream.aggregates.contract import Aggregate


def by_remove(aggregate: Aggregate) -> bool:
    """Whether old panes can be taken out of a total: exactly, and on whole arrays at once."""
    return aggregate.removable and all(component.dtype != object for component in aggregate.zero(0))


def evaluation(aggregate: Aggregate) -> str:
    """The way in words, as a plan shows it.

    >>> import pyarrow as pa
    >>> from millstream.aggregates.max import Max
    >>> from millstream.aggregates.sum import Sum
    >>> evaluation(Sum([pa.int64()])), evaluation(Max([pa.int64()]))
    ('running total, by remove', 'two stacks')
    """
    return "running total, by remove" if by_remove(aggregate) else "two stacks"
