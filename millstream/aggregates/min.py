"""min(x): the smallest value."""

from __future__ import annotations

from millstream.aggregates.extreme import Extreme


class Min(Extreme):
    """The smallest value. NaN is greater than any number.

    >>> import numpy as np, pyarrow as pa
    >>> best = Min([pa.float64()])
    >>> values = pa.array([float("nan"), 1.0, float("nan")])
    >>> best.finish(best.reduce(best.zero(2), np.array([0, 0, 1]), [values], np.array([1, 2, 3]))).to_pylist()
    [1.0, nan]
    """

    name = "min"
    largest = False
