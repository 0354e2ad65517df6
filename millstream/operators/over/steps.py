"""One call of a user-defined aggregate with OVER: the states of all partitions, and the steps of a tuple."""

from __future__ import annotations

import io
import pickle
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from millstream.operators.ordered.final_order import FinalOrder
from millstream.operators.over.over_aggregate_job import OverCall
from millstream.operators.over.peers import with_peers
from millstream.udas.arrow import to_values
from millstream.udas.generated.compiled import compile_aggregate
from millstream.udas.generated.states import Rows, State, WindowState
from millstream.udas.sql_aggregate import SqlAggregate


class Columns:
    """The arguments of a call as values, in the order of the tuples."""

    def __init__(self, framed: OverCall, arranged: FinalOrder) -> None:
        call = framed.call
        arguments = [to_values(arranged.column(name)) for name in call.arguments]
        self.values: list[tuple[Any, ...]] = list(zip(*arguments, strict=True)) if arguments else []
        self.values = self.values or [()] * len(arranged.order)
        self.times: list[int] = arranged.times.tolist()
        self.begins: list[int] = arranged.begins.tolist()
        passing = arranged.passing(call.condition)
        self.counts: list[bool] | None = None if call.condition is None else passing.tolist()
        self.peers: list[int] | None = arranged.last_peers(passing).tolist() if with_peers(framed) else None

    def answers(self, place: int) -> bool:
        """Whether the tuple's answer is not that of a later one of its time."""
        return self.peers is None or self.peers[place] == place

    def shared(self, places: list[int], rows: list[Rows]) -> list[Rows]:
        """What was answered at some places, with the answer of the last of each time for those before it."""
        if self.peers is None:
            return rows
        by_place = dict(zip(places, rows, strict=True))
        counts = self.counts
        return [by_place.get(self.peers[p], []) if counts is None or counts[p] else [] for p in places]


class Steps:
    """The states of a call. A tuple that its FILTER leaves out does not come for it, and has no answer.

    With ACTIVE EXPIRATION a tuple in `inwindow` has its number in the partition in place of its time, so that it can
    be found among the tuples when it expires.
    """

    def __init__(self, framed: OverCall) -> None:
        self.window = framed.window
        aggregate = framed.call.aggregate
        assert isinstance(aggregate, SqlAggregate)  # noqa: S101
        self.aggregate = aggregate
        self.by_time = self.window.by_time
        self.reach = self.window.reach
        finite = aggregate.versions.window if self.reach is not None else None
        self._compiled = compile_aggregate(finite or aggregate.versions.any)
        self.active = self.window.active and finite is not None
        self.recomputes = self.reach is not None and finite is None
        self._tables = {} if self.recomputes else aggregate.catalog_tables(self._compiled)
        self._states: dict[int, State] = {}

    @property
    def keeps(self) -> bool:
        """Whether tuples are needed again, once they have been settled."""
        return self.recomputes or self.active

    def step(self, partition: int, columns: Columns, place: int, number: int, answers: bool) -> Rows:
        """What a tuple makes the aggregate return; `number` is that of the tuple in its partition."""
        if columns.counts is not None and not columns.counts[place]:
            return []
        if self.recomputes:
            return self._recomputed(columns, place) if answers and columns.answers(place) else []
        state = self._states.get(partition)
        if state is None:
            state = self._states[partition] = self._compiled.new(self._tables)
        values = columns.values[place]
        if not isinstance(state, WindowState):
            rows = state.add(*values)
        elif self.active or self.reach is None:
            state.enter(values, number)
            rows = state.add(*values)
        else:
            now = columns.times[place] if self.by_time else number
            rows = state.arrive(values, now, now - self.reach)[1]
        return rows + state.terminate() if self._compiled.body.blocking else rows

    def expire(self, partition: int, columns: Columns, first: int, until: int) -> Iterator[tuple[int, Rows]]:
        """The places of the tuples of a partition that leave before a time, and what EXPIRE returns for each.

        `first` is the place where the tuple number 0 of the partition would be.
        """
        state = self._states.get(partition)
        if not isinstance(state, WindowState):
            return
        start = until - (self.reach or 0)
        while (number := state.oldest_time) is not None and columns.times[first + number] < start:
            yield first + number, state.expire()

    def _recomputed(self, columns: Columns, place: int) -> Rows:
        first = columns.begins[place]
        if self.by_time:
            first = bisect_left(columns.times, columns.times[place] - (self.reach or 0), first, place)
        else:
            first = max(first, place - (self.reach or 0))
        return self.aggregate.run_in_order(
            (columns.times[p], columns.values[p])
            for p in range(first, place + 1)
            if columns.counts is None or columns.counts[p]
        )

    def plain(self, members: range) -> dict[int, tuple[Any, ...]]:
        """The states of some partitions, to be stored."""
        return {n: self._states[n].to_plain() for n in members if n in self._states}

    def restore(self, plain: Mapping[int, tuple[Any, ...]]) -> None:
        """Go on with states that were stored."""
        self._states.update((n, self._compiled.from_plain(p, self._tables)) for n, p in plain.items())


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, texts and what holds them, and nothing that could run."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("decimal", "Decimal"):
            return Decimal
        raise pickle.UnpicklingError(f"{module}.{name} has no place in the state of an aggregate")


def loads(blob: bytes) -> Any:
    """States that were stored."""
    return _PlainUnpickler(io.BytesIO(blob)).load()
