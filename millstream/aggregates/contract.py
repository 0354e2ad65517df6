"""The contract of an aggregate: an algebra over states, with all operations on arrays of groups at once.

| operation | required | what it does |
| --- | --- | --- |
| `zero`    | yes | the states of so many groups that have seen nothing |
| `reduce`  | yes | tuples into the states of their groups |
| `merge`   | yes | two arrays of states into one, group by group |
| `remove`  | no  | the opposite of merge: takes a part out of a whole |
| `finish`  | yes | states to answers |
| `pack`, `unpack` | yes | states to Arrow columns and back |
| `merge_runs` | no | many states into few |
| `reduce_packed`, `merge_packed` | no | tuples into packed states, and packed states into states, in one go |

From which of them exist, the planner picks the evaluation: panes and merge, or delta by remove.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.structure import Structure

Groups = npt.NDArray[np.int64]
"""For each tuple, the index of its group."""

Times = npt.NDArray[np.int64]
"""For each tuple, its time stamp in microseconds."""

Numbers = npt.NDArray[np.int64]

State = tuple[npt.NDArray[Any], ...]
"""The states of n groups: one array of length n per component. A component that is no number is an object array."""


class Aggregate(ABC):
    """An aggregate bound to the types of its arguments. Instances are immutable and can be pickled.

    No operation changes the arrays it is given, except `reduce`, which owns the state it is given.
    NULL arguments never count, unless an aggregate says otherwise. What comes out must not depend on the order in
    which tuples come in: where order matters, it is that of time stamps, then that of arrival for those that are
    `told_of_arrival`, and values decide between what is still equal.
    """

    name: ClassVar[str]
    arity: ClassVar[int] = 1
    by_order: bool = False
    """Whether the order of tuples of one time stamp matters."""
    arriving: bool = False
    """Whether there is one more argument, the last: the number of each tuple in the order of arrival."""

    format: ClassVar[int] = 1
    """The version of its states: who packs them otherwise raises it, and checkpoints with the old ones are refused."""

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        self.arguments = tuple(arguments)

    @property
    def options(self) -> tuple[Structure, ...]:
        """The constants that it was made with, besides the types of its arguments."""
        return ()

    @property
    def definition(self) -> Structure:
        """What a user has defined it as; None of what is built in, which its name and `format` define."""
        return None

    @property
    @abstractmethod
    def result(self) -> pa.DataType:
        """The type of the answers."""

    @property
    @abstractmethod
    def components(self) -> tuple[pa.DataType, ...]:
        """The Arrow types of the packed components of a state."""

    @abstractmethod
    def zero(self, groups: int) -> State:
        """The states of groups that have seen nothing."""

    @abstractmethod
    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """The states after each tuple has been folded into that of its group."""

    @abstractmethod
    def merge(self, left: State, right: State) -> State:
        """The states of unions: group i of the result is what group i of both has seen."""

    @abstractmethod
    def finish(self, state: State) -> pa.Array:
        """The answers, one per group."""

    def told_of_arrival(self) -> Aggregate:
        """The same with one more argument: the numbers by which tuples arrived."""
        told = copy(self)
        told.arguments = (*self.arguments, pa.int64())
        told.arriving = True
        return told

    def renumbered(self, columns: Sequence[pa.Array], number: Callable[[Numbers], Numbers]) -> list[pa.Array]:
        """Packed states of one that is told of arrival, with other numbers for the tuples they have seen."""
        raise NotImplementedError(f"{self.name} does not go by arrival")

    def remove(self, whole: State, part: State) -> State:
        """The states less what `part` has seen, which `whole` has seen too."""
        raise NotImplementedError(f"{self.name} cannot remove")

    @property
    def removable(self) -> bool:
        """Whether `remove` exists, and is exact."""
        return type(self).remove is not Aggregate.remove

    @property
    def additive(self) -> bool:
        """Whether merge is the sum of each component, exactly: then a difference of prefix sums is a state.

        Merge may also bring the sums into shape, such as by carrying from one to the next.
        """
        return False

    def pack(self, state: State) -> list[pa.Array]:
        """The states as Arrow columns, to travel and to be kept."""
        return [pa.array(c, type=t) for c, t in zip(state, self.components, strict=True)]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """The states that were packed."""
        return tuple(_from_arrow(c, z) for c, z in zip(columns, self.zero(0), strict=True))

    def merge_runs(self, state: State, starts: npt.NDArray[np.int64]) -> State:
        """The states of the runs that begin at `starts`, which ascend from 0; each run has at least one state.

        Neighbours are merged first, then neighbours of those, and so on: as many rounds as the longest run can be
        halved, all runs at once, and never two states out of their order.
        """
        merged = tuple(component.copy() for component in state)
        begins, lengths = starts, np.diff(starts, append=len(state[0]))
        step = 1
        while (longer := lengths > step).any():
            # A state stands for the `step` states from its place on; of two neighbours the left takes in the right.
            begins, lengths = begins[longer], lengths[longer]
            pairs = (lengths - 1 - step) // (2 * step) + 1
            nth = np.arange(pairs.sum()) - np.repeat(np.cumsum(pairs) - pairs, pairs)
            left = np.repeat(begins, pairs) + 2 * step * nth
            put(merged, left, self.merge(take(merged, left), take(merged, left + step)))
            step *= 2
        return take(merged, starts)

    def reduce_packed(self, groups: Groups, arguments: Sequence[pa.Array], times: Times, size: int) -> list[pa.Array]:
        """The packed states of so many groups, which have seen these tuples."""
        return self.pack(self.reduce(self.zero(size), groups, arguments, times))

    def merge_packed(self, columns: Sequence[pa.Array], groups: Groups, size: int) -> State:
        """The states of so many groups, each the merge of the packed states that bear its number."""
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        whole = self.zero(size)
        put(whole, groups[order[starts]], self.merge_runs(take(self.unpack(columns), order), starts))
        return whole


def take(state: State, indices: npt.NDArray[np.int64]) -> State:
    """The states of some groups."""
    return tuple(component[indices] for component in state)


def put(state: State, indices: npt.NDArray[np.int64], values: State) -> None:
    """Write states into the places of some groups."""
    for component, value in zip(state, values, strict=True):
        component[indices] = value


def _from_arrow(column: pa.Array, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if like.dtype == object:
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_pylist()
        return values
    numbers: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return numbers.astype(like.dtype, copy=True)
