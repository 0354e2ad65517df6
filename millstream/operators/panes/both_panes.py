"""Panes that windows share, and those that one of them has for itself, read as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from millstream.operators.key_index import KeyIndex
from millstream.operators.panes.lazy_panes import Added
from millstream.operators.panes.states import Pane, merged
from millstream.operators.panes.store import PaneStore
from millstream.operators.window_aggregate_job import Call


class BothPanes:
    """What a window reads of two stores with the same keys; others fill them, write them and let go of panes."""

    def __init__(self, calls: Sequence[Call], shared: PaneStore, own: PaneStore) -> None:
        self.index: KeyIndex = shared.index
        self.panes = _Panes(calls, shared, own)

    @property
    def keys(self) -> pa.Table:
        """The keys by number."""
        return self.index.keys

    def drop(self, pane: int) -> None:
        """Others let go of panes."""


class _Panes(Mapping[int, Pane]):
    def __init__(self, calls: Sequence[Call], shared: PaneStore, own: PaneStore) -> None:
        self._calls, self._shared, self._own = calls, shared, own

    def __getitem__(self, pane: int) -> Pane:
        if pane not in self._own.panes:
            return self._shared.panes[pane]
        own = self._own.panes[pane]
        if pane not in self._shared.panes:
            return own
        both = zip(self._calls, self._shared.panes[pane], own, strict=True)
        return tuple(merged(call.aggregate, one, other) for call, one, other in both)

    def __iter__(self) -> Iterator[int]:
        yield from self._shared.panes
        yield from (pane for pane in self._own.panes if pane not in self._shared.panes)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def unread(self, pane: int) -> tuple[Added, ...]:
        """All that a pane has, as long as none of it is merged; else nothing."""
        return () if pane in self._own.panes else self._shared.panes.unread(pane)
