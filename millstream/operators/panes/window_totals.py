"""The states of windows that are read in the order of time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial

from millstream.aggregates.contract import Aggregate, State
from millstream.aggregates.evaluation import over_panes
from millstream.operators.panes.running_total import RunningTotal
from millstream.operators.panes.states import Pane, merged
from millstream.operators.panes.two_stacks import TwoStacks
from millstream.operators.window_aggregate_job import Call
from millstream.windows.tuples import Ids


class WindowTotals:
    """A queue of panes for every call, each of the kind that suits its aggregate.

    What has been read from a pane must not change any more; neither end of what is asked for ever goes back.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._panes: Mapping[int, Pane] = {}
        self._unseen: deque[int] = deque()
        self.reset()

    def reset(self) -> None:
        """Read everything anew, because keys have been renumbered or panes joined."""
        self._queues = [_queue(call.aggregate) for call in self._calls]

    def offer(self, panes: Mapping[int, Pane]) -> None:
        """Say which panes there are now."""
        newest = self._queues[0].newest
        self._panes = panes
        self._unseen = deque(sorted(p for p in panes if newest is None or p > newest))

    def over(self, span: Ids) -> Pane | None:
        """The states over a span of panes, None if there is no pane in it."""
        while self._unseen and self._unseen[0] < span.stop:
            pane = self._unseen.popleft()
            if pane >= span.start:
                for queue, state in zip(self._queues, self._panes[pane], strict=True):
                    queue.push(pane, state)
        for queue in self._queues:
            queue.evict(span.start)
        totals = [queue.total() for queue in self._queues]
        found = tuple(total for total in totals if total is not None)
        return found if len(found) == len(totals) else None


def _queue(aggregate: Aggregate) -> RunningTotal | TwoStacks[State]:
    return (
        RunningTotal(aggregate) if over_panes(aggregate) == "running total" else TwoStacks(partial(merged, aggregate))
    )
