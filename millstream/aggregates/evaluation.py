"""The evaluation of an aggregate over windows, from the operations that it has."""

from __future__ import annotations

from typing import Literal

import pyarrow.types as pt

from millstream.aggregates.contract import Aggregate

OverPanes = Literal["running total", "two stacks"]
OverFrames = Literal["prefix sums", "merge tree", "recomputation"]


def over_panes(aggregate: Aggregate) -> OverPanes:
    """For windows of panes: a running total if old panes can be taken out of it, exactly and on whole arrays at once.

    >>> import pyarrow as pa
    >>> from millstream.aggregates.max import Max
    >>> from millstream.aggregates.sum import Sum
    >>> over_panes(Sum([pa.int64()])), over_panes(Max([pa.int64()]))
    ('running total', 'two stacks')
    """
    flat = all(component.dtype != object for component in aggregate.zero(0))
    return "running total" if aggregate.removable and flat else "two stacks"


def over_frames(aggregate: Aggregate) -> OverFrames:
    """For frames of tuples.

    Prefix sums where states can be subtracted exactly: a frame costs the same whatever its length. Else a tree of
    merged blocks: a frame costs the logarithm of its length. States that grow with what they have seen gain nothing
    from being merged, so that such frames are computed one by one.
    """
    if aggregate.additive:
        return "prefix sums"
    kinds = zip(aggregate.components, aggregate.zero(0), strict=True)
    grows = any(state.dtype == object and (pt.is_nested(kind) or pt.is_binary(kind)) for kind, state in kinds)
    return "recomputation" if grows else "merge tree"
