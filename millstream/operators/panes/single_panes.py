"""Windows of one pane each, many at once: with few keys the number of calls costs, not that of tuples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import take
from millstream.operators.answers import STAMP, answers
from millstream.operators.key_index import KeyIndex
from millstream.operators.panes.lazy_panes import Added, states_of, together
from millstream.operators.panes.states import Rows
from millstream.operators.window_aggregate_job import WindowAggregateJob

FEW = 10_000
"""A pane to which more states were added is worth a round of its own."""

ENOUGH_STATES, ENOUGH_BYTES = 200_000, 32 << 20
"""Windows are answered when so much has come together."""


class Closed(NamedTuple):
    """A window that is complete: its bounds, and all that was added to its pane."""

    start: int | None
    end: int
    added: tuple[Added, ...]


class Gathered:
    """Windows that wait to be answered together, each of which has little."""

    def __init__(self) -> None:
        self._windows: list[Closed] = []
        self._states = self._bytes = 0

    @staticmethod
    def takes(added: Sequence[Added]) -> bool:
        """Whether a window with so much should wait for others."""
        return bool(added) and sum(len(a.rows) for a in added) <= FEW

    def add(self, window: Closed) -> bool:
        """Take one more; says whether that is enough."""
        self._windows.append(window)
        self._states += sum(len(a.rows) for a in window.added)
        self._bytes += sum(a.table.nbytes for a in window.added)
        return self._states >= ENOUGH_STATES or self._bytes >= ENOUGH_BYTES

    def answered(self, work: WindowAggregateJob, index: KeyIndex, marks: Rows | None) -> Iterator[pa.Table]:
        """The answers of those that wait, in their order; none from keys that have had theirs, as `marks` say."""
        windows, self._windows = self._windows, []
        self._states = self._bytes = 0
        if windows:
            yield from _answered(work, index, marks, windows)


def _answered(
    work: WindowAggregateJob, index: KeyIndex, marks: Rows | None, windows: Sequence[Closed]
) -> Iterator[pa.Table]:
    size = len(index)
    added = [Added(a.rows + number * size, a.table) for number, window in enumerate(windows) for a in window.added]
    codes, table = together(added)
    groups, places = np.unique(codes, return_inverse=True)
    states = states_of(work, Added(places, table), len(groups))
    of_window, of_key = groups // size, groups % size
    bounds = np.array([(window.start, window.end) for window in windows])[of_window]
    present = states[0][0] > 0
    if marks is not None:
        present &= marks[of_key] < bounds[:, 1]
    at = np.flatnonzero(present)
    if len(at):
        keys = index.keys.take(pa.array(of_key[at]))
        yield answers(work, keys, [take(s, at) for s in states], *(pa.array(b, STAMP) for b in bounds[at].T))
