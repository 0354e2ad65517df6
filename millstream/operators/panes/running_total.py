"""Sliding windows by a running total of panes, from which old panes are removed."""

from __future__ import annotations

from collections import deque

from millstream.aggregates.contract import Aggregate, State
from millstream.operators.panes.states import grown, merged


class RunningTotal:
    """A queue of panes that knows the merge of all it holds: one merge as a pane comes, one remove as it leaves.

    >>> import numpy as np
    >>> from millstream.aggregates.count_star import CountStar
    >>> queue = RunningTotal(CountStar([]))
    >>> for pane, count in enumerate([3, 9, 4, 1]):
    ...     queue.push(pane, (np.array([count]),))
    >>> queue.evict(2)
    >>> queue.total()
    (array([5]),)
    """

    def __init__(self, aggregate: Aggregate) -> None:
        self._aggregate = aggregate
        self._panes: deque[tuple[int, State]] = deque()
        self._total: State | None = None
        self.newest: int | None = None

    def push(self, pane: int, state: State) -> None:
        """Take in a pane that is newer than all others."""
        self._panes.append((pane, state))
        self._total = state if self._total is None else merged(self._aggregate, self._total, state)
        self.newest = pane

    def evict(self, before: int) -> None:
        """Let go of the panes before a pane."""
        gone: list[State] = []
        while self._panes and self._panes[0][0] < before:
            gone.append(self._panes.popleft()[1])
        if not self._panes:
            self._total = None
        if self._total is None:
            return
        for state in gone:
            size = len(self._total[0])
            part = state if len(state[0]) == size else grown(self._aggregate, state, size)
            self._total = self._aggregate.remove(self._total, part)

    def total(self) -> State | None:
        """The merge of all panes in the queue, None if there are none."""
        return self._total
