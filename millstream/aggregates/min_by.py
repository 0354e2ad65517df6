"""min_by(x, y): the x of the smallest y."""

from __future__ import annotations

from millstream.aggregates.choice import Choice


class MinBy(Choice):
    """The x of the tuple with the smallest y; of several that which arrived last.

    >>> import numpy as np, pyarrow as pa
    >>> cheapest = MinBy([pa.string(), pa.float64()])
    >>> x, y = pa.array(["a", "b", "c"]), pa.array([2.5, 1.5, 1.5])
    >>> cheapest.finish(cheapest.reduce(cheapest.zero(1), np.zeros(3, dtype=int), [x, y], np.arange(3))).to_pylist()
    ['b']
    """

    name = "min_by"
    arity = 2
    latest = False
    largest = False
