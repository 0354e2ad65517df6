"""string_agg(x, separator): strings, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from millstream.aggregates.columns import refuse
from millstream.aggregates.contract import State
from millstream.aggregates.tally_with_constant import TallyWithConstant


class StringAgg(TallyWithConstant):
    """The strings, in the order of time and then arrival, with a constant separator between them; NULL of nothing.

    >>> import numpy as np
    >>> joined = StringAgg([pa.string()])
    >>> values, times = pa.array(["c", "b", None, "a"]), np.array([2, 2, 1, 3])
    >>> joined.finish(joined.reduce(joined.zero(2), np.zeros(4, dtype=int), [values], times)).to_pylist()
    ['b,c,a', None]
    """

    name = "string_agg"
    timed = True
    by_order = True

    def __init__(self, arguments: Sequence[pa.DataType], constant: str | None = None) -> None:
        super().__init__(arguments, constant)
        if not pt.is_string(self.kind):
            refuse(self.name, self.kind, "a string")

    @property
    def result(self) -> pa.DataType:
        """Always string."""
        return pa.string()

    @property
    def steering(self) -> pa.DataType:
        """The separator."""
        return pa.string()

    def checked(self, constant: Any) -> str:
        """A string."""
        if not isinstance(constant, str):
            raise TypeError(f"the second argument of {self.name} must be a string, not {constant!r}")
        return constant

    def finish(self, state: State) -> pa.Array:
        """Join them."""
        default = "," if self.constant is None else self.constant
        separators = [default if constant is None else constant for constant in state[1]]
        parts = zip(separators, self.in_order(state), strict=True)
        return pa.array([separator.join(codes) if codes else None for separator, codes in parts], type=pa.string())
