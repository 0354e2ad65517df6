"""quantile(x, p) and median(x)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.aggregates.columns import is_number, nullable, refuse, to_floats
from millstream.aggregates.contract import State
from millstream.aggregates.tally_with_constant import TallyWithConstant


class Quantile(TallyWithConstant):
    """The value below which a constant fraction of the values lies, between two of them if need be.

    >>> ninth = Quantile([pa.int64()], 0.9)
    >>> values = pa.array([10, 20, 30])
    >>> ninth.finish(ninth.reduce(ninth.zero(2), np.zeros(3, dtype=int), [values], np.arange(3))).to_pylist()
    [28.0, None]
    """

    name = "quantile"

    def __init__(self, arguments: Sequence[pa.DataType], constant: float | None = None) -> None:
        super().__init__(arguments, constant)
        if not is_number(self.kind):
            refuse(self.name, self.kind)

    @property
    def result(self) -> pa.DataType:
        """Always float64."""
        return pa.float64()

    @property
    def steering(self) -> pa.DataType:
        """The fraction."""
        return pa.float64()

    def checked(self, constant: Any) -> float:
        """A fraction from 0 to 1."""
        if not 0 <= constant <= 1:
            raise ValueError(f"the second argument of {self.name} must be from 0 to 1, not {constant}")
        return float(constant)

    def finish(self, state: State) -> pa.Array:
        """Interpolate between the two values nearest to the fraction."""
        groups: list[int] = []
        shares: list[float] = []
        codes: list[Any] = []
        for i, (tally, constant) in enumerate(zip(*state, strict=True)):
            fraction = self.constant if self.constant is not None else constant
            if not tally or fraction is None:
                continue
            ordered = sorted(tally)
            ends = list(accumulate(tally[code] for code in ordered))
            position = fraction * (ends[-1] - 1)
            below = floor(position)
            groups.append(i)
            shares.append(position - below)
            codes += [ordered[bisect(ends, rank)] for rank in (below, min(below + 1, ends[-1] - 1))]
        low, high = to_floats(self.decoded(codes)).reshape(-1, 2).T
        share = np.array(shares)
        answers = np.zeros(len(state[0]))
        valid = np.zeros(len(state[0]), dtype=np.bool_)
        # Infinite neighbours must not meet a share of nothing.
        with np.errstate(invalid="ignore"):
            answers[groups] = np.where((share == 0) | (low == high), low, low * (1 - share) + high * share)
        valid[groups] = True
        return nullable(answers, valid, self.result)


class Median(Quantile):
    """The value in the middle, or halfway between the two there.

    >>> median = Median([pa.int64()])
    >>> values = pa.array([10, 40, 20, 30])
    >>> median.finish(median.reduce(median.zero(2), np.zeros(4, dtype=int), [values], np.arange(4))).to_pylist()
    [25.0, None]
    """

    name = "median"
    arity = 1

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments, 0.5)
