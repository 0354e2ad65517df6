"""Aggregates with bodies that are kernels: what a group has seen is an array, and all groups are finished at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.aggregates.codes import objects
from millstream.aggregates.contract import Groups, State, Times
from millstream.udas.body import Field
from millstream.udas.columns import Ints, Numbers, dtype, numbers, rows_of, to_arrow
from millstream.udas.kernels.kernel import Kernel, kernel_of
from millstream.udas.sql_aggregate import SqlAggregate

Bag = npt.NDArray[Any]
"""Tuples in no order: records of the time, and of the value and whether it is NULL for each argument."""


class KernelAggregate(SqlAggregate):
    """A body in the order of time: tuples are kept, and a kernel runs over those of all groups."""

    @cached_property
    def _kernel(self) -> Kernel:
        kernel = kernel_of(self.body)
        assert kernel is not None  # noqa: S101  (whoever chose this class has asked)
        return kernel

    @cached_property
    def _record(self) -> np.dtype[Any]:
        pairs = [
            pair for i, p in enumerate(self.body.parameters) for pair in ((f"v{i}", dtype(p.type)), (f"n{i}", np.bool_))
        ]
        return np.dtype([("time", np.int64), ("arrival", np.int64), *pairs])

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Remember the tuples."""
        arrived = arguments[-1].to_numpy() if self.arriving else 0
        parameters = zip(arguments[: len(arguments) - self.arriving], self.body.parameters, strict=True)
        bag = self._bag(times, arrived, [numbers(a, p.type) for a, p in parameters])
        (known,) = state
        order = np.argsort(groups, kind="stable")
        bag, groups = bag[order], groups[order]
        starts = np.flatnonzero(np.append(True, np.diff(groups) != 0)[: len(groups)])
        for group, come in zip(groups[starts].tolist(), np.split(bag, starts[1:]), strict=False):
            known[group] = _both(known[group], come)
        return state

    def merge(self, left: State, right: State) -> State:
        """All that both have seen."""
        return (objects([_both(a, b) for a, b in zip(left[0], right[0], strict=True)]),)

    def finish(self, state: State) -> pa.Array:
        """Run the kernel over what the groups have seen."""
        bag, ends = self._flat(state)
        starts = np.append(0, ends[:-1]) if len(ends) else ends
        bag = bag[self._order(bag, starts, ends)]
        has, results = self._kernel.fold(starts, ends, self._columns(bag))
        return rows_of(has, results, self.body.result, self.row)

    def pack(self, state: State) -> list[pa.Array]:
        """The tuples as lists."""
        (type_,) = self.components
        bag, ends = self._flat(state)
        arguments = [
            to_arrow(column, p.type) for column, p in zip(self._columns(bag), self.body.parameters, strict=True)
        ]
        moments = [pa.array(bag[name]) for name in ("time", "arrival")[: 1 + self.arriving]]
        tuples = pa.StructArray.from_arrays([*moments, *arguments], fields=list(type_.value_type))
        return [pa.ListArray.from_arrays(pa.array(np.append(0, ends), pa.int32()), tuples)]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """What was packed."""
        (column,) = columns
        tuples = column.flatten()
        begin = 1 + self.arriving
        arguments = [numbers(tuples.field(begin + i), p.type) for i, p in enumerate(self.body.parameters)]
        arrived = tuples.field(1).to_numpy() if self.arriving else 0
        bag = self._bag(tuples.field(0).to_numpy(), arrived, arguments)
        ends = np.cumsum(column.value_lengths().to_numpy())
        return (objects([part if len(part) else None for part in np.split(bag, ends)[:-1]]),)

    def _bag(self, times: Times, arrived: Ints | int, arguments: Sequence[Numbers]) -> Bag:
        bag = np.empty(len(times), dtype=self._record)
        bag["time"], bag["arrival"] = times, arrived
        for i, column in enumerate(arguments):
            bag[f"v{i}"], bag[f"n{i}"] = column
        return bag

    def _columns(self, bag: Bag) -> list[Numbers]:
        return [Numbers(bag[f"v{i}"], bag[f"n{i}"]) for i in range(len(self.body.parameters))]

    def _order(self, bag: Bag, starts: Ints, ends: Ints) -> Ints:
        """The order of tuples that come group by group."""
        groups = np.repeat(np.arange(len(ends)), ends - starts)
        return in_order(groups, (bag["time"], bag["arrival"]), self._columns(bag))

    def _flat(self, state: State) -> tuple[Bag, Ints]:
        """All tuples, group by group, and where those of each group end."""
        bags = [bag for bag in state[0] if bag is not None]
        lengths = np.array([0 if bag is None else len(bag) for bag in state[0]], dtype=np.int64)
        return np.concatenate([np.empty(0, dtype=self._record), *bags]), np.cumsum(lengths)


class KernelParts(SqlAggregate):
    """An ALGEBRAIC body: the state of a group is the one row that it returned over a part, with the part's time."""

    @cached_property
    def _kernel(self) -> Kernel:
        kernel = kernel_of(self.body)
        assert kernel is not None  # noqa: S101
        return kernel

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The time of the part, whether there is a row, and its values, each with whether it is NULL."""
        return tuple(pa.from_numpy_dtype(array.dtype) for array in self.zero(0))

    def zero(self, groups: int) -> State:
        """No row."""
        return _part(np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.bool_), self._no_rows(groups))

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Run the body over the tuples of each group as they come, then over what it returned before and now."""
        if not len(groups):
            return state
        columns = [numbers(a, p.type) for a, p in zip(arguments, self.body.parameters, strict=True)]
        size = len(state[0])
        has, rows = self._kernel.scatter(groups, size, columns)
        starts = np.full(size, np.iinfo(np.int64).max)
        np.minimum.at(starts, groups, times)
        return self.merge(state, _part(starts, has, rows))

    def merge(self, left: State, right: State) -> State:
        """Run the body over two rows, the earlier first, where both sides have one."""
        both = np.flatnonzero(left[1] & right[1])
        merged = tuple(np.where(left[1], a, b) for a, b in zip(left, right, strict=True))
        if not len(both):
            return merged
        pairs = [np.stack([a[both], b[both]]) for a, b in zip(left, right, strict=True)]
        groups = np.tile(np.arange(len(both)), 2)
        flat = [pair.reshape(-1) for pair in pairs]
        order = in_order(groups, (flat[0],), self._rows(flat))
        starts = np.arange(0, 2 * len(both), 2)
        rows = [Numbers(c.values[order], c.nulls[order]) for c in self._rows(flat)]
        has, results = self._kernel.fold(starts, starts + 2, self._as_parameters(rows))
        for array, new in zip(merged, _part(pairs[0].min(axis=0), has, results), strict=True):
            array[both] = new
        return merged

    def finish(self, state: State) -> pa.Array:
        """The rows."""
        return rows_of(state[1], self._rows(state), self.body.result, self.row)

    def pack(self, state: State) -> list[pa.Array]:
        """The arrays as they are."""
        return [pa.array(array) for array in state]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """What was packed."""
        return tuple(np.array(column.to_numpy(zero_copy_only=False)) for column in columns)

    def _rows(self, state: Sequence[npt.NDArray[Any]]) -> list[Numbers]:
        return [Numbers(*state[2 + 2 * i : 4 + 2 * i]) for i in range(len(self.body.result))]

    def _as_parameters(self, rows: list[Numbers]) -> list[Numbers]:
        pairs = zip(rows, self.body.parameters, strict=True)
        return [Numbers(row.values.astype(dtype(p.type), copy=False), row.nulls) for row, p in pairs]

    def _no_rows(self, groups: int) -> list[Numbers]:
        return [_nothing(field, groups) for field in self.body.result]


def _nothing(field: Field, groups: int) -> Numbers:
    return Numbers(np.zeros(groups, dtype=dtype(field.type)), np.zeros(groups, dtype=np.bool_))


def _part(times: Ints, has: npt.NDArray[np.bool_], rows: Sequence[Numbers]) -> State:
    return (times, has, *(array for row in rows for array in row))


def _both(left: Bag | None, right: Bag | None) -> Bag | None:
    if left is None or right is None:
        return right if left is None else left
    return np.concatenate([left, right])


def in_order(groups: Groups, moments: Sequence[Ints], columns: Sequence[Numbers]) -> Ints:
    """The order by group, by time and what else tells the moment, and then by values: NULL first and NaN last.

    >>> column = Numbers(np.array([2.0, 1.0, 0.0]), np.array([False, False, True]))
    >>> in_order(np.zeros(3, dtype=int), (np.array([5, 5, 5]),), [column])
    array([2, 1, 0])
    """
    earlier = (*reversed(moments), groups)
    order: Ints = np.lexsort(earlier)
    ties = np.all([np.diff(key[order]) == 0 for key in earlier], axis=0)
    if not ties.any():
        return order
    tied = np.flatnonzero(np.append(ties, False) | np.append(False, ties))
    some = order[tied]
    keys: list[npt.NDArray[Any]] = []
    for column in reversed(columns):
        nulls = column.nulls[some]
        keys += [np.where(nulls, 0, column.values[some]), ~nulls]
    order[tied] = some[np.lexsort((*keys, *(key[some] for key in earlier)))]
    return order
