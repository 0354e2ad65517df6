"""Rules that many users have over one stream: which key each is about, and which values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def rules(count: int, *, keys: int, seed: int, hits: int, ranges: bool) -> pa.Table:
    """So many rules (k, low, high), of which 1000 rows with values from 0 to 1 meet about so many (`hits`).

    Those of `ranges` are about every key, and each about a narrow range of values; others are about one key, and about
    values above a bound.

    >>> rules(2, keys=10, seed=1, hits=100, ranges=False).column_names
    ['k', 'low', 'high']
    """
    random = np.random.default_rng(seed)
    wanted = hits / 1000 / count * (1 if ranges else keys)
    if ranges:
        low = random.random(count) * (1 - min(wanted, 1))
        high = low + min(wanted, 1)
    else:
        low, high = 1 - 2 * min(wanted, 0.5) * random.random(count), np.full(count, 1.0)
    return pa.table({"k": random.integers(0, keys, count, dtype=np.int32), "low": low, "high": high})
