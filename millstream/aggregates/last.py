"""last(x): the latest value."""

from __future__ import annotations

from millstream.aggregates.choice import Choice


class Last(Choice):
    """The value with the latest time stamp, also if it is NULL; of several that which arrived last.

    >>> import numpy as np, pyarrow as pa
    >>> last = Last([pa.string()])
    >>> values, times = pa.array(["a", "c", "b", None]), np.array([10, 20, 20, 0])
    >>> last.finish(last.reduce(last.zero(1), np.zeros(4, dtype=int), [values], times)).to_pylist()
    ['c']
    """

    name = "last"
    latest = True
    largest = True
