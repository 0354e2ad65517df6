"""sum(x): the total."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from millstream.aggregates import limbs
from millstream.aggregates.columns import Bools, decimals, is_number, nullable, refuse, to_floats, valued
from millstream.aggregates.contract import Aggregate, Groups, State, Times


class Sum(Aggregate):
    """The total, exact for integers and decimals; NULL of nothing, and where the true total does not fit its type.

    >>> total = Sum([pa.int64()])
    >>> state = total.reduce(total.zero(3), np.array([0, 0, 1]), [pa.array([2**62, 5, 2**63 - 1])], np.zeros(3))
    >>> total.finish(state).to_pylist()
    [4611686018427387909, 9223372036854775807, None]
    >>> total.finish(total.merge(state, state)).to_pylist()
    [None, None, None]
    """

    name = "sum"

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments)
        (self.kind,) = self.arguments
        if not is_number(self.kind):
            refuse(self.name, self.kind)
        self.exact = not pt.is_floating(self.kind)

    @property
    def result(self) -> pa.DataType:
        """As Spark: int64, float64, or a decimal with ten more digits."""
        return self.total

    @property
    def total(self) -> pa.DataType:
        """The type that the total has to fit."""
        if pt.is_decimal128(self.kind):
            return pa.decimal128(min(38, self.kind.precision + 10), self.kind.scale)
        return pa.int64() if self.exact else pa.float64()

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """How many values, and their total: a float, or limbs."""
        return (pa.int64(), *([pa.int64()] * limbs.width(self.kind) if self.exact else [pa.float64()]))

    def zero(self, groups: int) -> State:
        """No values, a total of 0."""
        return tuple(np.zeros(groups, dtype=component.to_pandas_dtype()) for component in self.components)

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Add the values to the totals."""
        groups, values = valued(groups, arguments[0])
        np.add.at(state[0], groups, 1)
        if self.exact:
            limbs.add(state[1:], groups, values)
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                np.add.at(state[1], groups, to_floats(values))
        return state

    def merge(self, left: State, right: State) -> State:
        """Add the totals."""
        if self.exact:
            return (left[0] + right[0], *limbs.merged(left[1:], right[1:]))
        with np.errstate(invalid="ignore", over="ignore"):
            return (left[0] + right[0], left[1] + right[1])

    def remove(self, whole: State, part: State) -> State:
        """Subtract the totals, which only whole numbers and decimals do without an error."""
        if not self.exact:
            return super().remove(whole, part)
        return (whole[0] - part[0], *limbs.removed(whole[1:], part[1:]))

    @property
    def removable(self) -> bool:
        """Whether totals are exact."""
        return self.exact

    @property
    def additive(self) -> bool:
        """Whether totals are exact."""
        return self.exact

    def finish(self, state: State) -> pa.Array:
        """The totals."""
        seen: Bools = state[0] > 0
        if not self.exact:
            return nullable(state[1], seen, self.result)
        low, high, fits = limbs.words(state[1:])
        if pt.is_decimal128(self.kind):
            fits &= limbs.fits_digits(low, high, self.total.precision)
            return decimals(low, high, seen & fits, self.result)
        return nullable(low, seen & limbs.fits_int32(state[2]), self.result)
