"""max_by(x, y): the x of the largest y."""

from __future__ import annotations

from millstream.aggregates.choice import Choice


class MaxBy(Choice):
    """The x of the tuple with the largest y; of several that which arrived last.

    >>> import numpy as np, pyarrow as pa
    >>> dearest = MaxBy([pa.string(), pa.float64()])
    >>> x, y = pa.array(["a", "c", "b"]), pa.array([0.5, 1.5, 1.5])
    >>> dearest.finish(dearest.reduce(dearest.zero(1), np.zeros(3, dtype=int), [x, y], np.arange(3))).to_pylist()
    ['b']
    """

    name = "max_by"
    arity = 2
    latest = True
    largest = False
