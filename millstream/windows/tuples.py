"""Tuples as windows see them, their order, and the ids of windows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from millstream.errors import SettingError

Times = npt.NDArray[np.int64]
"""Times in microseconds since the epoch (UTC)."""

Ints = npt.NDArray[np.int64]
"""Numbers of windows, panes, rows or positions."""

Keys = npt.NDArray[Any]
"""One key per tuple, of any type that numpy can sort."""

Ids = range
"""Consecutive window ids or pane ids; named here because several windows have a field `range`."""

Order = Literal["rank", "row"]
"""How tuples are ranked: by time and then number, or by number alone."""


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple as windows see it; `row` is its number, counted from 1, different for every tuple.

    Where tuples rank by arrival, it is their arrival number. Where they rank by time, it stands for any order that
    decides between tuples of one time, such as that of their values.
    """

    time: int
    row: int = 0
    key: Hashable = None
    value: object = None


def ordered(tuples: Iterable[Tuple], order: Order = "rank") -> list[Tuple]:
    """The tuples in time-stamp order, ties by number; or by number alone.

    >>> [t.row for t in ordered([Tuple(5, 1), Tuple(3, 3), Tuple(3, 2)])]
    [2, 3, 1]
    >>> [t.row for t in ordered([Tuple(5, 1), Tuple(3, 3), Tuple(3, 2)], "row")]
    [1, 2, 3]
    """
    return sorted(tuples, key=lambda t: (t.time, t.row) if order == "rank" else (t.row, 0))


def require_positive(**sizes: int | None) -> None:
    """Refuse sizes of windows that are zero or less; None stands for unbounded.

    >>> require_positive(slide=0)
    Traceback (most recent call last):
    ...
    millstream.errors.SettingError: the slide of a window must be more than 0, not 0
    """
    for name, size in sizes.items():
        if size is not None and size <= 0:
            raise SettingError(f"the {name} of a window must be more than 0, not {size}")


def expand_ids(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Every id from first[i] to last[i], both inclusive, as (positions i, ids); none where last < first.

    >>> positions, ids = expand_ids(np.array([4, 7, 1]), np.array([5, 6, 1]))
    >>> positions.tolist(), ids.tolist()
    ([0, 0, 2], [4, 5, 1])
    """
    counts = np.maximum(last - first + 1, 0)
    positions = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    nth = np.arange(len(positions), dtype=np.int64) - (np.cumsum(counts) - counts)[positions]
    return positions, first[positions] + nth


def codes(keys: Keys | None, count: int) -> Ints:
    """The keys as numbers from 0, equal where the keys are equal; all 0 where there are no keys.

    >>> codes(np.array(["b", "a", "b"]), 3).tolist()
    [1, 0, 1]
    """
    if keys is None:
        return np.zeros(count, dtype=np.int64)
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def arranged(times: Times, rows: Ints, keys: Keys | None, order: Order = "rank") -> tuple[Ints, Ints]:
    """Positions by key and then in the order within the key, and for each of them the rank from 0 in its key.

    >>> positions, ranks = arranged(np.array([5, 3, 3]), np.array([1, 3, 2]), None)
    >>> positions.tolist(), ranks.tolist()
    ([2, 1, 0], [0, 1, 2])
    """
    key = codes(keys, len(times))
    positions = np.lexsort((rows, times, key) if order == "rank" else (rows, key))
    nth = np.arange(len(times), dtype=np.int64)
    key = key[positions]
    return positions, nth - np.searchsorted(key, key)
