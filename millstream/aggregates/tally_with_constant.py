"""The base of tallies with a constant second argument, such as a fraction or a separator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.aggregates.codes import objects
from millstream.aggregates.contract import Groups, State, Times
from millstream.aggregates.tally import Tally
from millstream.structure import Structure


class TallyWithConstant(Tally):
    """A tally and a constant: given to the constructor, or the second argument of every tuple."""

    arity = 2

    def __init__(self, arguments: Sequence[pa.DataType], constant: Any = None) -> None:
        super().__init__(arguments)
        self.constant = None if constant is None else self.checked(constant)

    @property
    def options(self) -> tuple[Structure, ...]:
        """The constant, if it was given to the constructor."""
        return (self.constant,)

    @property
    @abstractmethod
    def steering(self) -> pa.DataType:
        """The type of the constant."""

    @abstractmethod
    def checked(self, constant: Any) -> Any:
        """The constant, if it is one that the aggregate takes."""

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The tally, and the constant once it is known."""
        return (*super().components, self.steering)

    def zero(self, groups: int) -> State:
        """Empty tallies, and the constant not known."""
        return (*super().zero(groups), np.full(groups, None, dtype=object))

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Count the values, and take note of the constant."""
        super().reduce(state[:1], groups, [arguments[0], *arguments[len(arguments) - self.arriving :]], times)
        if len(arguments) > 1 + self.arriving and (found := arguments[1].unique().drop_null().to_pylist()):
            if len(found) > 1:
                self._differ(*found[:2])
            fresh = np.full(len(state[1]), None, dtype=object)
            fresh[groups] = self.checked(found[0])
            state[1][:] = self._agreed(state[1], fresh)
        return state

    def merge(self, left: State, right: State) -> State:
        """Add the counts."""
        return (*super().merge(left[:1], right[:1]), self._agreed(left[1], right[1]))

    def remove(self, whole: State, part: State) -> State:
        """Subtract the counts."""
        return (*super().remove(whole[:1], part[:1]), self._agreed(whole[1], part[1]))

    def pack(self, state: State) -> list[pa.Array]:
        """The tallies, and the constants."""
        return [*super().pack(state[:1]), pa.array(state[1], type=self.steering)]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """What was packed."""
        return (*super().unpack(columns[:1]), objects(columns[1].to_pylist()))

    def _agreed(self, left: Any, right: Any) -> Any:
        for a, b in zip(left, right, strict=True):
            if a is not None and b is not None and a != b:
                self._differ(a, b)
        return np.where(left == None, right, left)  # noqa: E711 - element by element

    def _differ(self, one: Any, other: Any) -> None:
        raise ValueError(f"the second argument of {self.name} must be a constant, not {one!r} here and {other!r} there")
