"""Tuples to fragments of sessions: one per group and local session."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.operators.codes import by_group_and_time, dense_groups
from millstream.operators.group_names import naming_groups
from millstream.operators.panes.partials import reduced, stamped
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.windows.session import Session

FIRST, LAST = "__start", "__last"
"""The first and the last time of a fragment: all its partition, not only its group, has no gap in between."""


def session_of(work: WindowAggregateJob) -> Session:
    """The window of a job over sessions."""
    if not isinstance(work.window, Session):
        raise TypeError(f"{work.window} is not a session")
    return work.window


def session_partials(work: WindowAggregateJob, rows: pa.Table) -> pa.Table:
    """A row per group and session among these rows: the keys, FIRST and LAST, and the packed states of all calls.

    `rows` has the key columns, the columns that the calls read, and TIME in microseconds. Rows whose time is NULL
    are left out. Sessions are those of the partition, whatever groups its tuples are in.
    """
    gap = session_of(work).gap
    rows = stamped(rows).combine_chunks()
    times = rows[TIME].to_numpy().astype(np.int64)
    partitions, _ = dense_groups([rows[name] for name in work.key_names[: work.partition]], len(times))
    order = by_group_and_time(partitions, times)
    time = times[order]
    opens = np.ones(len(times), dtype=np.bool_)
    opens[1:] = (np.diff(time) >= gap) | (np.diff(partitions[order]) != 0)
    sessions = np.empty(len(times), dtype=np.int64)
    sessions[order] = np.cumsum(opens) - 1
    groups, firsts = sessions, order[opens]
    if work.partition < len(work.keys):
        groups, firsts = dense_groups([*(rows[name] for name in work.key_names), pa.array(sessions)], len(times))
    data = {name: rows[name].take(pa.array(firsts)) for name in work.key_names}
    data[FIRST] = pa.array(time[opens][sessions[firsts]])
    data[LAST] = pa.array(time[np.roll(opens, -1)][sessions[firsts]])
    with naming_groups(data, work.key_names):
        data.update(reduced(work, rows, groups, len(firsts), times))
    return pa.table(data)
