"""Rules that many users have over one stream, in the forms in which such rules come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Draw = Callable[[np.random.Generator, int, int, float], pa.Table]
"""Rules: how many, over how many keys, and the share of rows that each meets, about."""


@dataclass(frozen=True)
class RuleSet:
    """Rules of one form: the parameters, what a row of (ts, k, v) must meet, and a number of the rule to be shown."""

    what: str
    parameters: str
    condition: str
    shown: str
    draw: Draw


def _bounds(random: np.random.Generator, count: int, keys: int, share: float) -> pa.Table:
    low = 1 - 2 * min(share * keys, 0.5) * random.random(count)
    return pa.table({"item": random.integers(0, keys, count, dtype=np.int32), "low": low})


def _bands(random: np.random.Generator, count: int, keys: int, share: float) -> pa.Table:
    items = random.integers(0, keys, count, dtype=np.int32)
    return pa.table({"item": items, **_ranges(random, count, 1, share * keys)})


def _ranges(random: np.random.Generator, count: int, keys: int, share: float) -> dict[str, pa.Array]:
    width = min(share, 1.0)
    low = random.random(count) * (1 - width)
    return {"low": pa.array(low), "high": pa.array(low + width)}


def _heads(random: np.random.Generator, count: int, keys: int, share: float) -> pa.Table:
    digits = max(round(-np.log10(share)), 1)
    heads = pc.utf8_lpad(pa.array(random.integers(0, 10**digits, count)).cast(pa.string()), digits, "0")
    return pa.table({"head": pc.binary_join_element_wise("0.", heads, "")})


RULE_SETS = {
    "bound": RuleSet("a key, and values above a bound", "item INT, low DOUBLE", "k = item AND v > low", "low", _bounds),
    "band": RuleSet(
        "a key, and values in a range",
        "item INT, low DOUBLE, high DOUBLE",
        "k = item AND v BETWEEN low AND high",
        "low",
        _bands,
    ),
    "range": RuleSet(
        "values in a range, of any key",
        "low DOUBLE, high DOUBLE",
        "v BETWEEN low AND high",
        "low",
        lambda *drawn: pa.table(_ranges(*drawn)),
    ),
    "prefix": RuleSet(
        "texts that begin so: the digits of a value",
        "head STRING",
        "startswith(CAST(v AS STRING), head)",
        "CAST(head AS DOUBLE)",
        _heads,
    ),
}
"""By their names. Spark finds those about a key by a hash join on it, and tries all others on each row."""


def rules(name: str, count: int, *, keys: int, seed: int, hits: int) -> pa.Table:
    """So many rules, of which 1000 rows with values from 0 to 1 meet about so many (`hits`).

    >>> rules("band", 2, keys=10, seed=1, hits=100).column_names
    ['item', 'low', 'high']
    """
    return RULE_SETS[name].draw(np.random.default_rng(seed), count, keys, hits / 1000 / count)
