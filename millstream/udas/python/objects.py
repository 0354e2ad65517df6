"""States of Python aggregates that are any objects: one call of a method for each tuple and each state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.aggregates.codes import objects
from millstream.aggregates.contract import Groups, State, Times
from millstream.udas.python.declaration import ClassForm
from millstream.udas.python.errors import UserCodeError, failed
from millstream.udas.python.pickling import copied, dumps, loads
from millstream.udas.python.state import PICKLED

CAUGHT = (Exception, SystemExit)
"""What code of users may raise. What ends the process for other reasons is not theirs."""


class Nothing:
    """The state of a group that has seen nothing: no state is made for it."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = Nothing()


class Methods:
    """The methods of a class, each of whose failures says what it was called with."""

    def __init__(self, name: str, form: ClassForm, *, fresh: bool = False) -> None:
        self.name = name
        self.form = form
        self._keeps = fresh or form.pure  # states that no one else has need no copy
        self._none_is_a_state: bool | None = None

    def zero(self) -> Any:
        """A new state."""
        try:
            return self.form.made.zero()
        except CAUGHT as problem:
            raise failed(self.name, "zero", (), problem) from problem

    def reduce(self, state: Any, rows: Sequence[tuple[Any, ...]], group: int) -> Any:
        """The state after some tuples of its group."""
        reduce = self.form.made.reduce
        row: tuple[Any, ...] = ()
        try:
            for row in rows:
                state = reduce(state, *row)
        except CAUGHT as problem:
            self._state(state, "reduce")  # the tuple before it may be to blame
            raise failed(self.name, "reduce", row, problem, group) from problem
        return self._state(state, "reduce")

    def merge(self, left: Any, right: Any, group: int) -> Any:
        """The state of both."""
        return self._joined("merge", left, right, group)

    def remove(self, whole: Any, part: Any, group: int) -> Any:
        """The state less a part."""
        return self._joined("remove", whole, part, group)

    def finish(self, state: Any, group: int) -> Any:
        """The answer."""
        try:
            return self.form.made.finish(state)
        except CAUGHT as problem:
            raise failed(self.name, "finish", (state,), problem, group) from problem

    def finish_nothing(self) -> Any:
        """The answer of a group that has seen nothing: many a class has none, such as an average."""
        try:
            return self.form.made.finish(self.form.made.zero())
        except CAUGHT:
            return None

    def _joined(self, method: str, left: Any, right: Any, group: int) -> Any:
        try:
            own = left if self._keeps else copied(left, self.form.cls)
            return self._state(getattr(self.form.made, method)(own, right), method)
        except CAUGHT as problem:
            raise failed(self.name, method, (left, right), problem, group) from problem

    def _state(self, state: Any, method: str) -> Any:
        if state is None:
            if self._none_is_a_state is None:
                self._none_is_a_state = self.zero() is None
            if not self._none_is_a_state:
                raise UserCodeError(f"aggregate {self.name}: {method} returned None; it must return the new state")
        return state


class Objects:
    """Arrays of objects."""

    def __init__(self, name: str, form: ClassForm) -> None:
        self.components = (PICKLED,)
        self._methods = Methods(name, form)
        self._owner = form.cls

    def zero(self, groups: int) -> State:
        """Nothing seen."""
        return (np.full(groups, NOTHING, dtype=object),)

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Run by run: the tuples of a group lie together."""
        (states,) = state
        for group, rows in runs(groups, arguments):
            old = states[group]
            states[group] = self._methods.reduce(self._methods.zero() if old is NOTHING else old, rows, group)
        return state

    def merge(self, left: State, right: State) -> State:
        """A call for each group that both have seen."""
        merge = self._methods.merge
        pairs = enumerate(zip(left[0], right[0], strict=True))
        return (objects([b if a is NOTHING else a if b is NOTHING else merge(a, b, i) for i, (a, b) in pairs]),)

    def remove(self, whole: State, part: State) -> State:
        """A call for each group of the part."""
        remove = self._methods.remove
        pairs = enumerate(zip(whole[0], part[0], strict=True))
        return (objects([a if b is NOTHING else remove(a, b, i) for i, (a, b) in pairs]),)

    def finish(self, state: State) -> list[Any]:
        """A call for each group."""
        finish, states = self._methods.finish, state[0]
        nothing = self._methods.finish_nothing() if any(s is NOTHING for s in states) else None
        return [nothing if s is NOTHING else finish(s, i) for i, s in enumerate(states)]

    def pack(self, state: State) -> list[pa.Array]:
        """Pickled."""
        return [pickled(state[0], self._owner, self._methods.name)]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """What was pickled."""
        return (unpickled(columns[0], self._owner),)


def runs(groups: Groups, arguments: Sequence[pa.Array]) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    """The tuples of each group, which lie together."""
    columns = [column.to_pylist() for column in arguments]
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(groups)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    ends = np.append(starts[1:], len(groups))
    for group, start, end in zip(groups[starts].tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield group, rows[start:end]


def pickled(states: npt.NDArray[Any], owner: type, name: str) -> pa.Array:
    """Objects as bytes, NULL for nothing."""
    packed = []
    for state in states:
        try:
            packed.append(None if state is NOTHING else dumps(state, owner))
        except CAUGHT as problem:
            raise failed(name, "pickle", (state,), problem) from problem
    return pa.array(packed, PICKLED)


def unpickled(column: pa.Array, owner: type) -> npt.NDArray[Any]:
    """The objects of bytes."""
    return objects([NOTHING if data is None else loads(data, owner) for data in column.to_pylist()])
