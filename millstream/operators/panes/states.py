"""The states of all calls of a job, side by side: the contents of a pane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.aggregates.contract import Aggregate, State, put, take
from millstream.operators.window_aggregate_job import PANE, Call, WindowAggregateJob
from millstream.windows.tuples import Ids

Pane = tuple[State, ...]
"""The states of all calls, for the keys of a bucket up to the last one that the pane has seen."""

Rows = npt.NDArray[np.int64]
"""Numbers of keys."""

DENSE = 0.7
"""From this share of keys on that a pane has seen, the states of all keys take less room than some with numbers."""

NUMBER, SIZE = "__number", "__size"


def zeros(calls: Sequence[Call], size: int) -> Pane:
    """The states of so many keys that have seen nothing."""
    return tuple(call.aggregate.zero(size) for call in calls)


def pack(work: WindowAggregateJob, states: Pane) -> pa.Table:
    """States as columns."""
    data: dict[str, pa.Array] = {}
    for number, (call, state) in enumerate(zip(work.calls, states, strict=True)):
        data.update(zip(work.state_names(number), call.aggregate.pack(state), strict=True))
    return pa.table(data)


def unpack(work: WindowAggregateJob, table: pa.Table) -> Pane:
    """The states that were packed."""
    return tuple(
        call.aggregate.unpack([table[name].combine_chunks() for name in work.state_names(number)])
        for number, call in enumerate(work.calls)
    )


def pack_present(work: WindowAggregateJob, states: Pane) -> pa.Table:
    """The states of the keys that the pane has seen, with their numbers; of all keys if most are there."""
    present = np.flatnonzero(states[0][0] > 0)
    size = len(states[0][0])
    if len(present) > DENSE * size:
        return pack(work, states)
    sparse = pack(work, tuple(take(state, present) for state in states))
    return sparse.append_column(pa.field(NUMBER, pa.int32(), metadata={SIZE: str(size)}), pa.array(present, pa.int32()))


def unpack_present(work: WindowAggregateJob, table: pa.Table) -> Pane:
    """The states that were packed, of all keys."""
    states = unpack(work, table)
    if NUMBER not in table.column_names:
        return states
    dense = zeros(work.calls, int(table.field(NUMBER).metadata[SIZE.encode()]))
    for all_, some in zip(dense, states, strict=True):
        put(all_, table[NUMBER].to_numpy(), some)
    return dense


def pack_together(work: WindowAggregateJob, panes: Mapping[int, Pane]) -> pa.Table:
    """Several panes as one table: a row per pane and key that it has seen."""
    tables = []
    size = 0
    for pane, states in sorted(panes.items()):
        present = np.flatnonzero(states[0][0] > 0)
        size = max(size, len(states[0][0]))
        some = pack(work, tuple(take(state, present) for state in states))
        some = some.append_column(NUMBER, pa.array(present, pa.int32()))
        tables.append(some.append_column(PANE, pa.array(np.full(len(present), pane))))
    return pa.concat_tables(tables).replace_schema_metadata({SIZE: str(size)})


def unpack_together(work: WindowAggregateJob, table: pa.Table) -> dict[int, Pane]:
    """The panes that were packed; one without keys is gone."""
    size = int(table.schema.metadata[SIZE.encode()])
    states = unpack(work, table)
    numbers, panes = table[NUMBER].to_numpy(), table[PANE].to_numpy()
    found: dict[int, Pane] = {}
    for part in np.split(np.arange(len(panes)), np.flatnonzero(np.diff(panes)) + 1) if len(panes) else ():
        dense = zeros(work.calls, size)
        for all_, some in zip(dense, states, strict=True):
            put(all_, numbers[part], take(some, part))
        found[int(panes[part[0]])] = dense
    return found


def grown(aggregate: Aggregate, state: State, size: int) -> State:
    """The state with room for keys that came later; always fresh arrays, which may be written to."""
    rest = aggregate.zero(size - len(state[0]))
    return tuple(np.concatenate([a, b]) for a, b in zip(state, rest, strict=True))


def merged(aggregate: Aggregate, left: State, right: State) -> State:
    """The merge of two states, one of which may know fewer keys."""
    size = max(len(left[0]), len(right[0]))
    left = left if len(left[0]) == size else grown(aggregate, left, size)
    right = right if len(right[0]) == size else grown(aggregate, right, size)
    return aggregate.merge(left, right)


def chosen(calls: Sequence[Call], states: Pane, rows: Rows) -> Pane:
    """The states of some keys, which a pane need not have seen."""
    size = len(states[0][0])
    known = rows < size
    if known.all():
        return tuple(take(state, rows) for state in states)
    found = zeros(calls, len(rows))
    for state, old in zip(found, states, strict=True):
        put(state, np.flatnonzero(known), take(old, rows[known]))
    return found


def total_of(calls: Sequence[Call], span: Ids, panes: Mapping[int, Pane | None], rows: Rows) -> Pane:
    """The states of some keys over a span of panes."""
    total: Pane | None = None
    for pane in sorted(p for p in panes if p in span):
        states = panes[pane]
        if states is not None:
            part = chosen(calls, states[: len(calls)], rows)
            total = part if total is None else _merge(calls, total, part)
    return zeros(calls, len(rows)) if total is None else total


def _merge(calls: Sequence[Call], left: Pane, right: Pane) -> Pane:
    return tuple(call.aggregate.merge(a, b) for call, a, b in zip(calls, left, right, strict=True))
