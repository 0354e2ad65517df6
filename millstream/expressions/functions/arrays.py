"""Arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.expressions.arrow.values import Values, as_arrays
from millstream.expressions.functions.function import ANY, ARRAY, Function, plain


def arrow_array_of(*values: Values) -> Values:
    """`array(a, b)`: an array for each row.

    >>> arrow_array_of(pa.array([1, 2]), pa.scalar(0)).to_pylist()
    [[1, 0], [2, 0]]
    """
    columns = as_arrays(*values)
    rows, width = len(columns[0]), len(columns)
    order = np.arange(rows * width).reshape(width, rows).T.reshape(-1)
    ends = pa.array(np.arange(0, rows * width + 1, width, dtype=np.int32))
    return pa.ListArray.from_arrays(ends, pa.concat_arrays(columns).take(pa.array(order)))


FUNCTIONS = (Function("array", (ANY,), ARRAY, arrow=plain(arrow_array_of), many=True, strict=False),)
