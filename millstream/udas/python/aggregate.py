"""Aggregates that are classes of Python, in the algebra of the others, so that every window can compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.aggregates.columns import present
from millstream.aggregates.contract import Aggregate, Groups, State, Times
from millstream.errors import RunError
from millstream.structure import Structure
from millstream.udas.python.declaration import ClassForm, place_of
from millstream.udas.python.objects import Objects
from millstream.udas.python.results import to_answers
from millstream.udas.python.structs import Structs

Outputs = tuple[tuple[str, pa.DataType], ...]
"""The columns of the result: names and types."""


def result_of(outputs: Outputs) -> pa.DataType:
    """The type of the answers: that of one column, or lists of rows."""
    if len(outputs) == 1:
        return outputs[0][1]
    return pa.list_(pa.struct([pa.field(name, type_) for name, type_ in outputs]))


class PyAggregate(Aggregate):
    """An aggregate whose operations are methods of a user's class.

    A result of one column is a value for each group; one of several columns is a list of rows, as that of a body.
    """

    def __init__(self, name: str, cls: type, arguments: Sequence[pa.DataType], outputs: Outputs) -> None:
        super().__init__(arguments)
        self.cls = cls
        self.outputs = outputs
        self._name = name
        self._form = ClassForm(cls)
        layout = self._form.layout
        self._states = Objects(name, self._form) if layout is None else Structs(name, self._form, layout)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name that the user gave it."""
        return self._name

    @property
    def definition(self) -> Structure:
        """Where its class is, and what it declares of its state; what its methods do, nobody can compare."""
        layout = self._form.layout
        declared = None if layout is None else tuple((f.name, str(f.dtype), str(f.arrow)) for f in layout.fields)
        return ("python", place_of(self.cls), declared, self._form.sees_nulls)

    @property
    def result(self) -> pa.DataType:
        """The declared type, or lists of rows."""
        return result_of(self.outputs)

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """A binary for states that are objects, else a count and the fields."""
        return self._states.components

    @property
    def removable(self) -> bool:
        """Whether the class has remove."""
        return self._form.removable

    def zero(self, groups: int) -> State:
        """Nothing seen."""
        return self._states.zero(groups)

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Fold the tuples in: all at once, or those of each group in the order of time."""
        if not self._form.sees_nulls and arguments:
            groups, arguments, times = present(groups, arguments, times)
        if not len(groups):
            return state
        if not self._form.has("reduce_batch"):
            # The order must not matter; but that of time rounds in the same way for any order of arrival in a batch.
            order = np.lexsort((times, groups))
            groups, times = groups[order], times[order]
            arguments = [column.take(pa.array(order)) for column in arguments]
        return self._states.reduce(state, groups, arguments, times)

    def merge(self, left: State, right: State) -> State:
        """Merge the states of groups that both have seen; others stay as they are."""
        return self._states.merge(left, right)

    def remove(self, whole: State, part: State) -> State:
        """Take out of the states of groups what the part has seen."""
        return self._states.remove(whole, part)

    def finish(self, state: State) -> pa.Array:
        """The answers."""
        return to_answers(self._states.finish(state), self.outputs, self.result, self._name)

    def pack(self, state: State) -> list[pa.Array]:
        """Objects as bytes, fields as columns."""
        return self._states.pack(state)

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """What was packed."""
        return self._states.unpack(columns)

    def __reduce__(self) -> tuple[type[PyAggregate], tuple[Any, ...]]:
        return PyAggregate, (self._name, self.cls, self.arguments, self.outputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PyAggregate) and other.__reduce__() == self.__reduce__()

    def __hash__(self) -> int:
        return hash((self._name, self.cls, self.arguments))


class PromisedAggregate(Aggregate):
    """An aggregate whose class has not been imported: what can be told of it without running code of its author."""

    def __init__(self, name: str, arguments: Sequence[pa.DataType], outputs: Outputs) -> None:
        super().__init__(arguments)
        self.outputs = outputs
        self._name = name

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name that the user gave it."""
        return self._name

    @property
    def result(self) -> pa.DataType:
        """The declared type, or lists of rows."""
        return result_of(self.outputs)

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """Not known."""
        raise self._unknown()

    def zero(self, groups: int) -> State:
        """Not known."""
        raise self._unknown()

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Not known."""
        raise self._unknown()

    def merge(self, left: State, right: State) -> State:
        """Not known."""
        raise self._unknown()

    def finish(self, state: State) -> pa.Array:
        """Not known."""
        raise self._unknown()

    def _unknown(self) -> RunError:
        return RunError(f"the class of {self._name} has not been imported\nhelp: carry out its CREATE AGGREGATE first")
