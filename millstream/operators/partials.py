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
    rows = stamped(rows).combine_chunks()
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


def stamped(rows: pa.Table) -> pa.Table:
    """The rows that have a time."""
    return rows.filter(pc.is_valid(rows[TIME])) if rows[TIME].null_count else rows


def reduced(work: Grouped, rows: pa.Table, groups: Groups, size: int, times: Times) -> dict[str, pa.Array]:
    """The packed states of all calls, for so many groups of rows."""
    data: dict[str, pa.Array] = {}
    every = _Chosen(groups, times)
    by_condition: dict[str, _Chosen] = {}
    for number, call in enumerate(work.calls):
        chosen = every
        if call.condition is not None:  # calls often share one
            if call.condition not in by_condition:
                by_condition[call.condition] = every.where(pc.fill_null(rows[call.condition], False))
            chosen = by_condition[call.condition]
        arguments = [chosen.column(rows, name) for name in call.arguments]
        state = call.aggregate.reduce(call.aggregate.zero(size), chosen.groups, arguments, chosen.times)
        data.update(zip(work.state_names(number), call.aggregate.pack(state), strict=True))
    return data


class _Chosen:
    """The rows that some calls take: their groups and times, and the columns that have been asked for."""

    def __init__(self, groups: Groups, times: Times, mask: pa.ChunkedArray | None = None) -> None:
        self.groups, self.times = groups, times
        self._mask = mask
        self._columns: dict[str, pa.Array] = {}

    def where(self, mask: pa.ChunkedArray) -> _Chosen:
        """Some of them."""
        keep = mask.to_numpy().astype(bool)
        return _Chosen(self.groups[keep], self.times[keep], mask)

    def column(self, rows: pa.Table, name: str) -> pa.Array:
        """A column of the rows that were chosen."""
        if name not in self._columns:
            column = rows[name] if self._mask is None else rows[name].filter(self._mask)
            self._columns[name] = column.combine_chunks()
        return self._columns[name]
