"""Sliding windows by two stacks of panes: two merges per window, whatever its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

S = TypeVar("S")


class TwoStacks(Generic[S]):
    """A queue of panes that knows the merge of all it holds; needs no remove, so that nothing drifts.

    New panes go on the back, with a running total. When the front is empty, the back is turned over once into
    totals of all its tails, and old panes then leave from there one by one.

    >>> queue = TwoStacks[int](max)
    >>> for pane, state in enumerate([3, 9, 4, 1]):
    ...     queue.push(pane, state)
    >>> queue.evict(2)
    >>> queue.total()
    4
    """

    def __init__(self, merge: Callable[[S, S], S]) -> None:
        self._merge = merge
        self._front: list[tuple[int, S]] = []
        self._back: list[tuple[int, S]] = []
        self._back_total: S | None = None
        self.newest: int | None = None

    def push(self, pane: int, state: S) -> None:
        """Take in a pane that is newer than all others."""
        self._back.append((pane, state))
        self._back_total = state if self._back_total is None else self._merge(self._back_total, state)
        self.newest = pane

    def evict(self, before: int) -> None:
        """Let go of the panes before a pane."""
        while self._front and self._front[-1][0] < before:
            self._front.pop()
        if not self._front and self._back and self._back[0][0] < before:
            self._turn_over(before)

    def total(self) -> S | None:
        """The merge of all panes in the queue, None if there are none."""
        tail = self._front[-1][1] if self._front else None
        if tail is None or self._back_total is None:
            return self._back_total if tail is None else tail
        return self._merge(tail, self._back_total)

    def _turn_over(self, before: int) -> None:
        total: S | None = None
        for pane, state in reversed(self._back):
            if pane < before:
                break
            total = state if total is None else self._merge(state, total)
            self._front.append((pane, total))
        self._back = []
        self._back_total = None
