"""Covariance and correlation of two arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.columns import Floats, is_number, nullable, present, refuse, to_floats
from millstream.aggregates.contract import Aggregate, Groups, State, Times
from millstream.aggregates.variance import distances


class CovarSamp(Aggregate):
    """The covariance of a sample. Tuples with a NULL in either argument do not count.

    The state is that of two variances, and the sum of products of distances from both means, which merges likewise.

    >>> covariance = CovarSamp([pa.int64(), pa.int64()])
    >>> x, y = pa.array([1, 2, 3]), pa.array([2, 4, 6])
    >>> state = covariance.reduce(covariance.zero(1), np.zeros(3, dtype=int), [x, y], np.arange(3))
    >>> covariance.finish(state).to_pylist()
    [2.0]
    """

    name = "covar_samp"
    arity = 2
    less: ClassVar[int] = 1

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments)
        for kind in self.arguments:
            if not is_number(kind):
                refuse(self.name, kind, "two numbers")

    @property
    def result(self) -> pa.DataType:
        """Always float64."""
        return pa.float64()

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The count, two means, two sums of squared distances from them, and the sum of products of distances."""
        return (pa.int64(), *[pa.float64()] * 5)

    def zero(self, groups: int) -> State:
        """No values."""
        return (np.zeros(groups, dtype=np.int64), *(np.zeros(groups) for _ in range(5)))

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Take the state of the new values in two passes, then merge it."""
        groups, columns, _ = present(groups, arguments, times)
        size = len(state[0])
        count = np.zeros(size, dtype=np.int64)
        np.add.at(count, groups, 1)
        mean_x, x = distances(count, groups, to_floats(columns[0]))
        mean_y, y = distances(count, groups, to_floats(columns[1]))
        sums = [np.zeros(size) for _ in range(3)]
        with np.errstate(invalid="ignore", over="ignore"):
            for total, values in zip(sums, (x * x, y * y, x * y), strict=True):
                np.add.at(total, groups, values)
        return self.merge(state, (count, mean_x, mean_y, *sums))

    def merge(self, left: State, right: State) -> State:
        """Add the counts; the distances between the means add to the squares and products."""
        count = left[0] + right[0]
        share: Floats = right[0] / np.maximum(count, 1)
        weight = left[0] * share
        with np.errstate(invalid="ignore", over="ignore"):
            x, y = right[1] - left[1], right[2] - left[2]
            merged = [
                left[1] + x * share,
                left[2] + y * share,
                left[3] + right[3] + x * x * weight,
                left[4] + right[4] + y * y * weight,
                left[5] + right[5] + x * y * weight,
            ]
        # Where one side is empty the other must come out as it went in, even if its means are infinite.
        for empty, other in ((left[0] == 0, right), (right[0] == 0, left)):
            for component, kept in zip(merged, other[1:], strict=True):
                component[empty] = kept[empty]
        return (count, *merged)

    def finish(self, state: State) -> pa.Array:
        """The covariances, NULL of too few tuples."""
        return nullable(state[5] / np.maximum(state[0] - self.less, 1), state[0] > self.less, self.result)


class CovarPop(CovarSamp):
    """The covariance of a population.

    >>> covariance = CovarPop([pa.int64(), pa.int64()])
    >>> x, y = pa.array([1, 3]), pa.array([2, 6])
    >>> state = covariance.reduce(covariance.zero(1), np.zeros(2, dtype=int), [x, y], np.arange(2))
    >>> covariance.finish(state).to_pylist()
    [2.0]
    """

    name = "covar_pop"
    less = 0


class Corr(CovarSamp):
    """The correlation, from -1 to 1; NULL where an argument does not vary.

    >>> correlation = Corr([pa.int64(), pa.int64()])
    >>> x, y = pa.array([0, 0, 2, 2, 7]), pa.array([3, 3, 1, 1, 4])
    >>> state = correlation.reduce(correlation.zero(2), np.array([0, 0, 0, 0, 1]), [x, y], np.arange(5))
    >>> correlation.finish(state).to_pylist()
    [-1.0, None]
    """

    name = "corr"

    def finish(self, state: State) -> pa.Array:
        """The covariance of what has been scaled to a variance of 1."""
        # Roots first: the product of two sums of squares may be out of range where the answer is not.
        with np.errstate(invalid="ignore", over="ignore"):
            spread = np.sqrt(state[3]) * np.sqrt(state[4])
            varies = (state[0] > 1) & (spread != 0)
            answers = np.divide(state[5], spread, where=varies, out=np.zeros(len(spread)))
        return nullable(np.clip(answers, -1, 1), varies, self.result)
