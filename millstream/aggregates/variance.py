"""Variance and standard deviation, of a sample and of a population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.columns import Floats, Ints, is_number, nullable, refuse, to_floats, valued
from millstream.aggregates.contract import Aggregate, Groups, State, Times


class VarSamp(Aggregate):
    """The variance of a sample: squared distances from the mean, divided by one less than their number.

    The state is a count, a mean and the squared distances from it; two of them merge without cancellation [Chan 1979].

    >>> variance = VarSamp([pa.int64()])
    >>> state = variance.reduce(variance.zero(2), np.array([0, 0, 1]), [pa.array([1, 3, 5])], np.array([1, 2, 3]))
    >>> variance.finish(state).to_pylist()
    [2.0, None]
    """

    name = "var_samp"
    less: ClassVar[int] = 1
    rooted: ClassVar[bool] = False

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments)
        if not is_number(self.arguments[0]):
            refuse(self.name, self.arguments[0])

    @property
    def result(self) -> pa.DataType:
        """Always float64."""
        return pa.float64()

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The count, the mean, the sum of squared distances from the mean."""
        return (pa.int64(), pa.float64(), pa.float64())

    def zero(self, groups: int) -> State:
        """No values."""
        return (np.zeros(groups, dtype=np.int64), np.zeros(groups), np.zeros(groups))

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Take the state of the new values in two passes, then merge it."""
        groups, column = valued(groups, arguments[0])
        count, _, squares = self.zero(len(state[0]))
        np.add.at(count, groups, 1)
        mean, apart = distances(count, groups, to_floats(column))
        with np.errstate(invalid="ignore", over="ignore"):
            np.add.at(squares, groups, apart * apart)
        return self.merge(state, (count, mean, squares))

    def merge(self, left: State, right: State) -> State:
        """Add the counts; the distance between the means adds to the squares."""
        count = left[0] + right[0]
        share: Floats = right[0] / np.maximum(count, 1)
        with np.errstate(invalid="ignore", over="ignore"):
            apart = right[1] - left[1]
            mean = left[1] + apart * share
            squares = left[2] + right[2] + apart**2 * (left[0] * share)
        # Where one side is empty the other must come out as it went in, even if its mean is infinite.
        for empty, other in ((left[0] == 0, right), (right[0] == 0, left)):
            mean[empty], squares[empty] = other[1][empty], other[2][empty]
        return (count, mean, squares)

    def finish(self, state: State) -> pa.Array:
        """The variances, NULL of too few values."""
        enough = state[0] > self.less
        variance = state[2] / np.maximum(state[0] - self.less, 1)
        return nullable(np.sqrt(variance) if self.rooted else variance, enough, self.result)


class VarPop(VarSamp):
    """The variance of a population: squared distances from the mean, divided by their number.

    >>> variance = VarPop([pa.int64()])
    >>> state = variance.reduce(variance.zero(2), np.array([0, 0, 1]), [pa.array([1, 3, 5])], np.array([1, 2, 3]))
    >>> variance.finish(state).to_pylist()
    [1.0, 0.0]
    """

    name = "var_pop"
    less = 0


class StddevSamp(VarSamp):
    """The square root of the variance of a sample.

    >>> deviation = StddevSamp([pa.int64()])
    >>> state = deviation.reduce(deviation.zero(1), np.zeros(3, dtype=int), [pa.array([1, 3, 5])], np.arange(3))
    >>> deviation.finish(state).to_pylist()
    [2.0]
    """

    name = "stddev_samp"
    rooted = True


class StddevPop(VarPop):
    """The square root of the variance of a population.

    >>> deviation = StddevPop([pa.int64()])
    >>> state = deviation.reduce(deviation.zero(1), np.zeros(2, dtype=int), [pa.array([1, 5])], np.arange(2))
    >>> deviation.finish(state).to_pylist()
    [2.0]
    """

    name = "stddev_pop"
    rooted = True


def distances(count: Ints, groups: Groups, values: Floats) -> tuple[Floats, Floats]:
    """The mean of each group, and how far each value is from that of its own.

    Means are taken from differences to one of the values, so that what does not vary has no variance at all.

    >>> distances(np.array([3]), np.array([0, 0, 0]), np.array([0.1, 0.1, 0.1]))
    (array([0.1]), array([0., 0., 0.]))
    """
    pivot = np.zeros(len(count))
    pivot[groups] = values
    mean = np.zeros(len(count))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = values - pivot[groups]
        np.add.at(mean, groups, apart)
        mean /= np.maximum(count, 1)
        apart -= mean[groups]
        return pivot + mean, apart
