"""States of Python aggregates that are structs: an array per field, and batch forms where the class has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from millstream.aggregates.contract import Groups, State, Times
from millstream.udas.python.declaration import ClassForm
from millstream.udas.python.errors import failed
from millstream.udas.python.objects import CAUGHT, Methods, pickled, runs, unpickled
from millstream.udas.python.pickling import copied
from millstream.udas.python.state import Arrays, Layout, read_only

Numbers = npt.NDArray[np.int64]


class Structs:
    """The number of tuples that a group has seen, and a component for each field."""

    def __init__(self, name: str, form: ClassForm, layout: Layout) -> None:
        self.components = (pa.int64(), *(field.arrow for field in layout.fields))
        self._name = name
        self._form = form
        self._layout = layout
        self._methods = Methods(name, form, fresh=layout.flat)
        self._first: tuple[Any, ...] | None = None

    def zero(self, groups: int) -> State:
        """Nothing seen."""
        return np.zeros(groups, dtype=np.int64), *self._zeros(groups)

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """The batch form over all tuples, or the tuples of each group."""
        count = state[0] + np.bincount(groups, minlength=len(state[0]))
        if self._form.has("reduce_batch"):
            columns = [_array(column, self._form.sees_nulls) for column in arguments]
            return count, *self._batch("reduce_batch", len(count), self._named(state), groups, columns, times)
        of, tuples = zip(*runs(groups, arguments), strict=True)
        cells = np.array(of, dtype=np.int64)
        olds = zip(self._taken(state, cells), tuples, of, strict=True)
        self._put(state, cells, [self._methods.reduce(old, rows, group) for old, rows, group in olds], "reduce")
        return count, *state[1:]

    def merge(self, left: State, right: State) -> State:
        """The batch form over all groups, or a call for each that both have seen."""
        count = left[0] + right[0]
        if self._form.has("merge_batch"):
            return count, *self._batch("merge_batch", len(count), *self._both(left, right))
        only_right = left[0] == 0
        merged = (count, *(np.where(only_right, b, a) for a, b in zip(left[1:], right[1:], strict=True)))
        cells = np.flatnonzero((left[0] > 0) & (right[0] > 0))
        pairs = zip(self._taken(left, cells), self._taken(right, cells), cells.tolist(), strict=True)
        self._put(merged, cells, [self._methods.merge(a, b, group) for a, b, group in pairs], "merge")
        return merged

    def remove(self, whole: State, part: State) -> State:
        """What has seen nothing any more begins anew, so that errors of rounding end there."""
        count = whole[0] - part[0]
        if self._form.has("remove_batch"):
            rest = (count, *self._batch("remove_batch", len(count), *self._both(whole, part)))
        else:
            rest = (count, *(column.copy() for column in whole[1:]))
            cells = np.flatnonzero((part[0] > 0) & (count > 0))
            pairs = zip(self._taken(whole, cells), self._taken(part, cells), cells.tolist(), strict=True)
            self._put(rest, cells, [self._methods.remove(a, b, group) for a, b, group in pairs], "remove")
        empty = np.flatnonzero(count == 0)
        for column, zero in zip(rest[1:], self._zeros(len(empty)), strict=True):
            column[empty] = zero
        return rest

    def finish(self, state: State) -> Any:
        """The batch form over all groups, or a call for each."""
        if self._form.has("finish_batch"):
            try:
                with np.errstate(all="ignore"):
                    answers = self._form.made.finish_batch(self._shielded(state))
                    if len(answers) != len(state[0]):
                        raise ValueError(f"it returned {len(answers)} answers for {len(state[0])} groups")
            except CAUGHT as problem:
                raise failed(self._name, "finish_batch", (), problem) from problem
            return answers
        nothing = self._methods.finish_nothing() if (state[0] == 0).any() else None
        cells = np.flatnonzero(state[0] > 0)
        answers = [nothing] * len(state[0])
        for single, group in zip(self._taken(state, cells), cells.tolist(), strict=True):
            answers[group] = self._methods.finish(single, group)
        return answers

    def pack(self, state: State) -> list[pa.Array]:
        """A column for each field."""
        fields = zip(state[1:], self._layout.fields, strict=True)
        owner, name = self._form.cls, self._name
        return [
            pa.array(state[0], pa.int64()),
            *(pickled(c, owner, name) if f.pickled else pa.array(c, type=f.arrow) for c, f in fields),
        ]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """The fields of columns."""
        found: list[npt.NDArray[Any]] = [columns[0].to_numpy(zero_copy_only=False).astype(np.int64)]
        for column, field in zip(columns[1:], self._layout.fields, strict=True):
            if field.pickled:
                found.append(unpickled(column, self._form.cls))
            else:
                found.append(column.to_numpy(zero_copy_only=False).astype(field.dtype))
        return tuple(found)

    # -- single states ---------------------------------------------------------------------------------------

    def _taken(self, state: State, cells: Numbers) -> list[Any]:
        """The states of some groups, one by one."""
        columns = [column[cells].tolist() for column in state[1:]]
        return [self._layout.one(values) for values in zip(*columns, strict=True)]

    def _put(self, state: State, cells: Numbers, new: list[Any], method: str) -> None:
        """Write single states into the places of some groups."""
        single: Any = None
        try:
            rows = []
            for single in new:
                rows.append(self._layout.values(single))
            columns = list(zip(*rows, strict=True)) or [()] * len(self._layout.fields)
            for column, field, values in zip(state[1:], self._layout.fields, columns, strict=True):
                column[cells] = field.column(values) if values else column[cells]
        except CAUGHT as problem:
            raise failed(self._name, f"the state of {method}", (single,), problem) from problem

    # -- batches ---------------------------------------------------------------------------------------------

    def _zeros(self, groups: int) -> tuple[npt.NDArray[Any], ...]:
        if self._form.has("zero_batch"):
            return self._batch("zero_batch", groups, groups)
        if self._first is None:
            self._first = tuple(self._layout.values(self._methods.zero()))
        found = []
        for field, value in zip(self._layout.fields, self._first, strict=True):
            column = np.empty(groups, dtype=field.dtype)
            if field.dtype == object:
                for group in range(groups):  # states may be changed: each has its own
                    column[group] = copied(value, self._form.cls)
            else:
                column[:] = value
            found.append(column)
        return tuple(found)

    def _batch(self, method: str, size: int, *arguments: Any) -> tuple[npt.NDArray[Any], ...]:
        try:
            with np.errstate(all="ignore"):
                return self._layout.arrays(getattr(self._form.made, method)(*arguments), size)
        except CAUGHT as problem:
            raise failed(self._name, method, (), problem) from problem

    def _named(self, state: State) -> Arrays:
        return {field.name: column for field, column in zip(self._layout.fields, state[1:], strict=True)}

    def _shielded(self, state: State) -> Arrays:
        return {f.name: c for f, c in zip(self._layout.fields, read_only(state[1:]), strict=True)}

    def _both(self, left: State, right: State) -> tuple[Arrays, Arrays]:
        return self._shielded(left), self._shielded(right)


def _array(column: pa.Array, with_nulls: bool) -> Any:
    """An argument as batch forms see it: numpy where it can hold all values."""
    kind = column.type
    numeric = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_temporal(kind)
    return column.to_numpy(zero_copy_only=False) if numeric and not with_nulls else column
