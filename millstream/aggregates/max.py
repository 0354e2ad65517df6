"""max(x): the largest value."""

from __future__ import annotations

from millstream.aggregates.extreme import Extreme


class Max(Extreme):
    """The largest value. NaN is greater than any number.

    >>> import numpy as np, pyarrow as pa
    >>> best = Max([pa.float64()])
    >>> values = pa.array([float("nan"), 1.0, float("nan")])
    >>> best.finish(best.reduce(best.zero(2), np.array([0, 0, 1]), [values], np.array([1, 2, 3]))).to_pylist()
    [nan, nan]
    """

    name = "max"
    largest = True
