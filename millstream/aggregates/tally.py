"""The base of aggregates that need all values: a tally of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.codes import coded, decode, encode, is_ordered, objects
from millstream.aggregates.columns import present, refuse
from millstream.aggregates.contract import Aggregate, Groups, Numbers, State, Times


class Tally(Aggregate):
    """A state that says how often each value occurred, or each value at each time.

    Tallies are dictionaries from codes, or from times, numbers of arrival and codes, to counts. They are never
    changed but replaced, so that states may share them.
    """

    timed: ClassVar[bool] = False

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments)
        self.kind = self.arguments[0]
        if not is_ordered(self.kind):
            refuse(self.name, self.kind, "a type that can be ordered")

    @property
    def entry(self) -> pa.DataType:
        """A line of a packed tally."""
        times = {"time": pa.int64(), "arrival": pa.int64()} if self.timed else {}
        return pa.struct({**times, "value": coded(self.kind), "count": pa.int64()})

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The tally."""
        return (pa.list_(self.entry),)

    def zero(self, groups: int) -> State:
        """Empty tallies."""
        return (objects([{}] * groups),)

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Count the values of each group, then write the counts into its tally."""
        groups, (values, *rest), times = present(groups, arguments, times)
        arrived = rest[-1] if self.arriving else pa.array(np.zeros(len(times), dtype=np.int64))
        order = {"time": pa.array(times), "arrival": arrived} if self.timed else {}
        codes = pa.array(encode(values), type=coded(self.kind)) if coded(self.kind) == pa.int64() else values
        columns = {"group": pa.array(groups), **order, "value": codes}
        counted = pa.table(columns).group_by(list(columns), use_threads=False).aggregate([([], "count_all")])
        at, *parts, counts = (column.to_pylist() for column in counted.select([*columns, "count_all"]).columns)
        keys = zip(*parts, strict=True) if self.timed else parts[0]
        tallies = state[0]
        fresh: dict[int, dict[Any, int]] = {}
        for group, key, count in zip(at, keys, counts, strict=True):
            tally = fresh.get(group)
            if tally is None:
                tally = fresh[group] = dict(tallies[group])
            tally[key] = tally.get(key, 0) + count
        for group, tally in fresh.items():
            tallies[group] = tally
        return state

    def merge(self, left: State, right: State) -> State:
        """Add the counts."""
        return (objects([_added(a, b) for a, b in zip(left[0], right[0], strict=True)]),)

    def remove(self, whole: State, part: State) -> State:
        """Subtract the counts, and forget what is left with none."""
        return (objects([_removed(a, b) for a, b in zip(whole[0], part[0], strict=True)]),)

    def pack(self, state: State) -> list[pa.Array]:
        """The tallies as lists of entries."""
        tallies = state[0]
        keys = [key for tally in tallies for key in tally]
        columns = (
            [list(part) for part in zip(*keys, strict=True)]
            if self.timed and keys
            else [keys] * (3 if self.timed else 1)
        )
        columns.append([count for tally in tallies for count in tally.values()])
        fields = list(self.entry)
        entries = [pa.array(column, type=field.type) for column, field in zip(columns, fields, strict=True)]
        return [pa.ListArray.from_arrays(_offsets(tallies), pa.StructArray.from_arrays(entries, fields=fields))]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """The tallies of lists of entries."""
        *parts, counts = (part.to_pylist() for part in columns[0].flatten().flatten())
        entries = iter(zip(zip(*parts, strict=True) if self.timed else parts[0], counts, strict=True))
        lengths = columns[0].value_lengths().to_pylist()
        return (objects([dict(next(entries) for _ in range(length)) for length in lengths]),)

    def renumbered(self, columns: Sequence[pa.Array], number: Callable[[Numbers], Numbers]) -> list[pa.Array]:
        """The tallies with other numbers."""
        return [with_numbers(columns[0], number), *columns[1:]]

    def decoded(self, codes: Sequence[Any]) -> pa.Array:
        """Values of codes."""
        array = objects(list(codes)) if coded(self.kind) != pa.int64() else np.array(codes, dtype=np.int64)
        return decode(array, np.ones(len(codes), dtype=np.bool_), self.kind)

    def in_order(self, state: State) -> Iterator[list[Any]]:
        """For each group its codes, as often as they occurred, in the order of time, arrival and then value."""
        for tally in state[0]:
            entries = sorted(tally.items())
            yield [key[-1] if self.timed else key for key, count in entries for _ in range(count)]


def with_numbers(column: pa.Array, number: Callable[[Numbers], Numbers]) -> pa.Array:
    """Lists of structs with other values in their field `arrival`.

    >>> lists = pa.array([[{"time": 5, "arrival": 1}], []])
    >>> with_numbers(lists, lambda numbers: numbers + 10).to_pylist()
    [[{'time': 5, 'arrival': 11}], []]
    """
    entries, lengths = column.flatten(), column.value_lengths().to_numpy()
    fields = list(column.type.value_type)
    place = [field.name for field in fields].index("arrival")
    parts = entries.flatten()
    parts[place] = pa.array(number(parts[place].to_numpy()))
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(parts, fields=fields))


def _added(left: dict[Any, int], right: dict[Any, int]) -> dict[Any, int]:
    if not left or not right:
        return left or right
    if len(left) < len(right):
        left, right = right, left
    total = dict(left)
    for key, count in right.items():
        total[key] = total.get(key, 0) + count
    return total


def _removed(whole: dict[Any, int], part: dict[Any, int]) -> dict[Any, int]:
    if not part:
        return whole
    rest = dict(whole)
    for key, count in part.items():
        left = rest.pop(key) - count
        if left:
            rest[key] = left
    return rest


def _offsets(sized: Iterable[Any]) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum([len(s) for s in sized], dtype=np.int32)]).astype(np.int32))
