"""first(x): the earliest value."""

from __future__ import annotations

from millstream.aggregates.choice import Choice


class First(Choice):
    """The value with the earliest time stamp, also if it is NULL; of several that which arrived first.

    >>> import numpy as np, pyarrow as pa
    >>> first = First([pa.int64()])
    >>> values, times = pa.array([7, 6, 5, None]), np.array([20, 20, 30, 40])
    >>> first.finish(first.reduce(first.zero(1), np.zeros(4, dtype=int), [values], times)).to_pylist()
    [6]
    """

    name = "first"
    latest = False
    newest = False
    largest = False
