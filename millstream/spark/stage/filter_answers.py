"""Filters the answers of a stage before they cross to Spark."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.steps import ArrowExpression

LONG_RUN = 32
"""Where so many rows in a row pass or do not, on average, none of them is copied."""


def filter_answers(rows: pa.Table, holds: ArrowExpression) -> pa.Table:
    """The rows for which the condition is true.

    >>> filter_answers(pa.table({"x": [1, None, 3]}), lambda rows: pc.greater(rows["x"].chunk(0), 1)).to_pylist()
    [{'x': 3}]
    """
    mask = pc.fill_null(holds(rows), False).to_numpy(zero_copy_only=False)
    cuts = np.flatnonzero(np.diff(mask, prepend=not mask[:1].all(), append=not mask[-1:].all()))
    if len(cuts) * LONG_RUN > len(mask):
        return rows.filter(pa.array(mask))
    runs = [rows.slice(begin, end - begin) for begin, end in pairwise(cuts.tolist()) if mask[begin]]
    return pa.concat_tables(runs) if runs else rows.slice(0, 0)
