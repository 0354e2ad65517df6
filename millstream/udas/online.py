"""Base aggregates that answer while their input comes, in grouped windows and over tables: every answer is one.

Over a frame an aggregate answers for one tuple, so there only what it returns with that tuple counts. A grouped window
asks for all that the body returns from the first tuple of the window to the last, and at the end. Declared ALGEBRAIC
or not, such an aggregate keeps its tuples there: from the answers over two parts nobody can tell those over the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import State
from millstream.udas.body import Body, returns
from millstream.udas.columns import Numbers, rows_of
from millstream.udas.generated import states
from millstream.udas.kernels.aggregate import KernelAggregate
from millstream.udas.sql_aggregate import Contents, Seen, SqlAggregate, Versions

UNBOUNDED = -1
"""The reach of a frame that nothing ever leaves, as kernels know it."""


def is_online(body: Body) -> bool:
    """Whether a body returns something before its input ends."""
    return any(returns(action) for action in (*body.initialize, *body.iterate))


def without_parts(versions: Versions) -> Versions:
    """The versions as if none were ALGEBRAIC."""
    base, window = (body and replace(body, algebraic=False) for body in (versions.base, versions.window))
    return Versions(base, window)


class OnlineAggregate(SqlAggregate):
    """All that a body returns over the tuples of a window."""

    def __init__(self, versions: Versions, contents: Contents | None = None) -> None:
        super().__init__(without_parts(versions), contents)

    def run_in_order(self, seen: Iterable[Seen]) -> states.Rows:
        """What the body returns, from the first tuple to the end."""
        state = self._compiled.new(self._tables)
        rows: states.Rows = []
        for _, values in seen:
            rows += state.add(*values)
        return rows + state.terminate() if state.seen else rows


class OnlineKernel(KernelAggregate):
    """The same by a kernel, which answers for every tuple."""

    def __init__(self, versions: Versions, contents: Contents | None = None) -> None:
        super().__init__(without_parts(versions), contents)

    def finish(self, state: State) -> pa.Array:
        """Step through the tuples of each group, and bring together what they return."""
        bag, ends = self._flat(state)
        groups = np.arange(len(ends))
        starts = np.append(0, ends[:-1]) if len(ends) else ends
        bag = bag[self._order(bag, starts, ends)]
        every = np.ones(len(bag), dtype=np.bool_)
        has, results = self._kernel.steps(
            (starts, ends, groups, starts),
            np.ascontiguousarray(bag["time"]),
            (False, UNBOUNDED),
            (every, every),
            np.zeros(len(ends), dtype=np.int64),
            [Numbers(np.ascontiguousarray(c.values), np.ascontiguousarray(c.nulls)) for c in self._columns(bag)],
            self._kernel.variables(len(ends)),
        )
        rows = rows_of(has, results, self.body.result, self.row).flatten()
        before = np.append(0, np.cumsum(has))
        return pa.ListArray.from_arrays(pa.array(before[np.append(0, ends)], pa.int32()), rows)
