"""The contract of an aggregate: an algebra over states, with all operations on arrays of groups at once.

| operation | required | what it does |
| --- | --- | --- |
| `zero`    | yes | the states of so many groups that have seen nothing |
| `reduce`  | yes | tuples into the states of their groups |
| `merge`   | yes | two arrays of states into one, group by group |
| `remove`  | no  | the opposite of merge: takes a part out of a whole |
| `finish`  | yes | states to answers |
| `pack`, `unpack` | yes | states to Arrow columns and back |

From which of them exist, the planner picks the evaluation: panes and merge, or delta by remove.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Groups = npt.NDArray[np.int64]
"""For each tuple, the index of its group."""

Times = npt.NDArray[np.int64]
"""For each tuple, its time stamp in microseconds."""

State = tuple[npt.NDArray[Any], ...]
"""The states of n groups: one array of length n per component. A component that is no number is an object array."""


class Aggregate(ABC):
    """An aggregate bound to the types of its arguments. Instances are immutable and can be pickled.

    No operation changes the arrays it is given, except `reduce`, which owns the state it is given.
    NULL arguments never count, unless an aggregate says otherwise. What comes out must not depend on the order in
    which tuples come in: where order matters, it is that of time stamps, and values decide between equal ones.
    """

    name: ClassVar[str]
    arity: ClassVar[int] = 1

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        self.arguments = tuple(arguments)

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
