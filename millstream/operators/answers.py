"""The schema of the answers of a grouped window."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millstream.aggregates.contract import State
from millstream.operators.group_names import naming_groups
from millstream.operators.window_aggregate_job import WindowAggregateJob

START, END, EMITTED = "window_start", "window_end", "emitted"
STAMP = pa.timestamp("us", tz="UTC")
PARTIAL, FINAL = "partial", "final"


def results(work: WindowAggregateJob, states: Sequence[State]) -> dict[str, pa.Array]:
    """The result columns of some groups."""
    data: dict[str, pa.Array] = {}
    for call, state in zip(work.calls, states, strict=True):
        if call.names:
            data.update(dict.fromkeys(call.names, call.aggregate.finish(state)))
    return data


def answers(
    work: WindowAggregateJob,
    keys: pa.Table,
    states: Sequence[State],
    starts: pa.Array,
    ends: pa.Array,
    emitted: str = FINAL,
) -> pa.Table:
    """A row per group: its keys, its results, and its window."""
    data = {name: keys[name] for name in work.key_names}
    with naming_groups(keys, work.key_names):
        data.update(results(work, states))
    data.update({START: starts, END: ends})
    if work.emit is not None:
        data[EMITTED] = pa.array([emitted] * len(ends), pa.string())
    return pa.table(data)
