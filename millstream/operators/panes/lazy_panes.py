"""Panes in memory: added states are put aside, and merged when the pane is read."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from millstream.operators.key_index import KeyIndex
from millstream.operators.panes.states import Pane, Rows, merged, pack
from millstream.operators.window_aggregate_job import WindowAggregateJob

REPEATED = 0.7
"""From this share of different keys on, states of equal width are kept as they came."""


class Added(NamedTuple):
    """States that a pane is yet to take in: the numbers of their keys, which may repeat, and the packed states."""

    rows: Rows
    table: pa.Table


class Panes(MutableMapping[int, Pane]):
    """Panes by number. All that was added to one is merged at once: with large states, that is most of the work."""

    def __init__(self, work: WindowAggregateJob, index: KeyIndex) -> None:
        self._work = work
        self._index = index
        self._merged: dict[int, Pane | None] = {}
        self._added: dict[int, list[Added]] = {}

    def add(self, pane: int, added: Added) -> None:
        """Put states aside for a pane, which need not exist."""
        self._merged.setdefault(pane, None)
        self._added.setdefault(pane, []).append(added)

    def unread(self, pane: int) -> tuple[Added, ...]:
        """All that a pane has, as long as none of it is merged; else nothing."""
        return tuple(self._added.get(pane, ())) if self._merged[pane] is None else ()

    def mark(self, pane: int, live: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Note which keys a pane has seen."""
        states = self._merged[pane]
        if states is not None:
            counts = states[0][0]
            live[: len(counts)] |= counts > 0
        for added in self._added.get(pane, ()):
            live[added.rows] = True

    def __getitem__(self, pane: int) -> Pane:
        states = self._merged[pane]
        added = self._added.pop(pane, ())
        if added:
            fresh = states_of(self._work, together(added), len(self._index))
            calls = self._work.calls
            if states is None:
                states = fresh
            else:
                states = tuple(merged(c.aggregate, a, b) for c, a, b in zip(calls, states, fresh, strict=True))
            self._merged[pane] = states
        assert states is not None  # noqa: S101  (a pane without states has had some added)
        return states

    def __setitem__(self, pane: int, states: Pane) -> None:
        self._merged[pane] = states
        self._added.pop(pane, None)

    def __delitem__(self, pane: int) -> None:
        del self._merged[pane]
        self._added.pop(pane, None)

    def __iter__(self) -> Iterator[int]:
        return iter(self._merged)

    def __len__(self) -> int:
        return len(self._merged)


def together(added: Sequence[Added]) -> Added:
    """All that was added as one."""
    if len(added) == 1:
        return added[0]
    return Added(np.concatenate([a.rows for a in added]), pa.concat_tables([a.table for a in added]))


def states_of(work: WindowAggregateJob, added: Added, size: int) -> Pane:
    """The states of so many keys that have seen nothing but this."""
    return tuple(
        call.aggregate.merge_packed(
            [added.table[name].combine_chunks() for name in work.state_names(number)], added.rows, size
        )
        for number, call in enumerate(work.calls)
    )


def shortened(work: WindowAggregateJob, added: Added) -> Added:
    """The same in fewer rows, if keys repeat and that makes it shorter: states of equal width do not grow."""
    if any(pt.is_nested(field.type) or pt.is_string(field.type) for field in added.table.schema):
        return added
    rows, places = np.unique(added.rows, return_inverse=True)
    if len(rows) > REPEATED * len(places):
        return added
    return Added(rows, pack(work, states_of(work, Added(places, added.table), len(rows))))
