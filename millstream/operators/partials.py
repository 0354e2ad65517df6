"""The first step of a window aggregate: tuples to partial states, one per key and pane (thesis, section 6.2)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.contract import Groups, Times
from millstream.operators.codes import dense_groups
from millstream.operators.emission import window_of
from millstream.operators.group_names import naming_groups
from millstream.operators.grouped import PANE, TIME, Grouped


def partial_states(work: Grouped, rows: pa.Table) -> pa.Table:
    """A row per key and pane: the key columns, the pane, and the packed states of all calls.

    `rows` has the key columns, the columns that the calls read, and TIME in microseconds. Rows whose time is NULL,
    and rows that fall between two windows, belong to no window and are left out.
    """
    rows = rows.filter(pc.is_valid(rows[TIME])).combine_chunks()
    times = rows[TIME].to_numpy().astype(np.int64)
    window = window_of(work)
    panes = window.pane_of(times)
    columns = [rows[name] for name in work.key_names]
    groups, firsts = dense_groups([*columns, pa.array(panes)], len(times))
    data = {name: rows[name].take(pa.array(firsts)) for name in work.key_names}
    data[PANE] = pa.array(panes[firsts])
    with naming_groups(data, work.key_names):
        data.update(reduced(work, rows, groups, len(firsts), times))
    first, last = window.spans(window.origin + panes[firsts] * window.pane)
    table = pa.table(data)
    return table if (first <= last).all() else table.filter(pa.array(first <= last))


def reduced(work: Grouped, rows: pa.Table, groups: Groups, size: int, times: Times) -> dict[str, pa.Array]:
    """The packed states of all calls, for so many groups of rows."""
    data: dict[str, pa.Array] = {}
    for number, call in enumerate(work.calls):
        chosen, of, at = rows, groups, times
        if call.condition is not None:
            mask = pc.fill_null(rows[call.condition], False)
            keep = mask.to_numpy().astype(bool)
            chosen, of, at = rows.filter(mask), groups[keep], times[keep]
        arguments = [chosen[name].combine_chunks() for name in call.arguments]
        state = call.aggregate.reduce(call.aggregate.zero(size), of, arguments, at)
        data.update(zip(work.state_names(number), call.aggregate.pack(state), strict=True))
    return data
