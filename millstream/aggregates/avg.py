"""avg(x): the mean."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from millstream.aggregates import limbs
from millstream.aggregates.columns import Bools, Ints, decimals, nullable
from millstream.aggregates.contract import State
from millstream.aggregates.sum import Sum


class Avg(Sum):
    """The mean: the exact total divided once. Decimals gain four digits, and the last is rounded half up.

    >>> mean = Avg([pa.int32()])
    >>> state = mean.reduce(mean.zero(2), np.array([0, 0]), [pa.array([1, 2], pa.int32())], np.array([1, 2]))
    >>> mean.finish(state).to_pylist()
    [1.5, None]
    """

    name = "avg"

    @property
    def result(self) -> pa.DataType:
        """As Spark: float64, or a decimal with four more digits."""
        if pt.is_decimal128(self.kind):
            return pa.decimal128(min(38, self.kind.precision + 4), min(38, self.kind.scale + 4))
        return pa.float64()

    def finish(self, state: State) -> pa.Array:
        """The totals divided by the counts."""
        count = state[0]
        seen: Bools = count > 0
        if pt.is_decimal128(self.kind):
            return self._divide(state, seen)
        total = limbs.as_floats(state[1:]) if self.exact else state[1]
        return nullable(np.divide(total, count, where=seen, out=np.zeros(len(count))), seen, self.result)

    def _divide(self, state: State, seen: Bools) -> pa.Array:
        """Decimals, rounded half up."""
        low, high, fits = limbs.words(state[1:])
        valid = seen & fits & limbs.fits_digits(low, high, self.total.precision)
        count: Ints = np.where(seen, state[0], 1)
        factor = 10 ** (self.result.scale - self.kind.scale)
        # Most totals are small enough for int64: |total| * factor * 2 + count must not overflow.
        small = valid & (high == low >> 63) & (np.abs(low >> 1) < (1 << 60) // factor) & (count < 1 << 60)
        total = np.where(small, low, 0)
        quotient = (2 * factor * np.abs(total) + count) // (2 * count) * np.sign(total)
        above = quotient >> 63
        for i in np.flatnonzero(valid & ~small):
            exact = int(high[i]) << 64 | int(low.view(np.uint64)[i])
            size = (2 * factor * abs(exact) + int(count[i])) // (2 * int(count[i]))
            valid[i] = size < 10**self.result.precision
            answer = (size if exact > 0 else -size) if valid[i] else 0
            quotient[i] = (answer + (1 << 63)) % (1 << 64) - (1 << 63)
            above[i] = answer >> 64
        valid &= limbs.fits_digits(quotient, above, self.result.precision)
        return decimals(quotient, above, valid, self.result)
