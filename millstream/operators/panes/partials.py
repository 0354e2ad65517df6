"""The first step of a window aggregate: tuples to partial states per key and pane [Li 2008, section 6.2]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.contract import Groups, Numbers, Times
from millstream.operators.codes import dense_groups
from millstream.operators.group_names import naming_groups
from millstream.operators.panes.call_filters import CallFilters
from millstream.operators.panes.emission import window_of
from millstream.operators.window_aggregate_job import PANE, TIME, WindowAggregateJob


def partial_states(work: WindowAggregateJob, rows: pa.Table) -> pa.Table:
    """A row per key and pane: the key columns, the pane, and the packed states of all calls.

    `rows` has the key columns, the columns that the calls read, and TIME in microseconds. Rows whose time is NULL,
    and rows that fall between two windows, belong to no window and are left out.
    """
    rows = stamped(rows).combine_chunks()
    times = rows[TIME].to_numpy().astype(np.int64)
    window = window_of(work)
    keys = [rows[name] for name in work.key_names]
    ends = window.pane_of(np.array([times.min(), times.max()])) if len(times) else np.zeros(2, dtype=np.int64)
    if ends[0] == ends[1]:  # as a rule, if panes are long: then no time has to be divided
        groups, firsts = dense_groups(keys, len(times))
        panes = np.full(len(firsts), ends[0])
    else:
        each = window.pane_of(times)
        groups, firsts = dense_groups([*keys, pa.array(each)], len(times))
        panes = each[firsts]
    data = {name: rows[name].take(pa.array(firsts)) for name in work.key_names}
    data[PANE] = pa.array(panes)
    with naming_groups(data, work.key_names):
        data.update(reduced(work, rows, groups, len(firsts), times))
    first, last = window.spans(window.origin + panes * window.pane)
    table = pa.table(data)
    return table if (first <= last).all() else table.filter(pa.array(first <= last))


def renumbered(work: WindowAggregateJob, states: pa.Table, number: Callable[[Numbers], Numbers]) -> pa.Table:
    """Partial states with other numbers for the order in which their tuples arrived."""
    for nth, call in enumerate(work.calls):
        if call.aggregate.arriving:
            names = work.state_names(nth)
            packed = call.aggregate.renumbered([states[name].combine_chunks() for name in names], number)
            for name, column in zip(names, packed, strict=True):
                states = states.set_column(states.column_names.index(name), name, column)
    return states


def stamped(rows: pa.Table) -> pa.Table:
    """The rows that have a time."""
    return rows.filter(pc.is_valid(rows[TIME])) if rows[TIME].null_count else rows


def reduced(work: WindowAggregateJob, rows: pa.Table, groups: Groups, size: int, times: Times) -> dict[str, pa.Array]:
    """The packed states of all calls, for so many groups of rows."""
    data: dict[str, pa.Array] = {}
    every = CallFilters(rows, groups, times)
    passing: dict[str, CallFilters] = {}  # calls often share a condition
    for number, call in enumerate(work.calls):
        if call.condition is not None and call.condition not in passing:
            passing[call.condition] = every.where(call.condition)
        one = every if call.condition is None else passing[call.condition]
        arguments = [one.column(name) for name in call.arguments]
        packed = call.aggregate.reduce_packed(one.groups, arguments, one.times, size)
        data.update(zip(work.state_names(number), packed, strict=True))
    return data
