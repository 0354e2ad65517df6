"""Registrations whose keys are equal, as groups with numbers; and the group that a tuple asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.operators.match.ranks import NOWHERE, Ranks

Numbers = npt.NDArray[np.int64]


class KeyGroups:
    """Numbers the groups of rows with equal keys; a row with a NULL among them is in none (-1).

    >>> keys = [pa.array([7, 8, 7, None]), pa.array(["a", "a", "a", "b"])]
    >>> groups = KeyGroups(keys, 4)
    >>> groups.numbers.tolist(), groups.count
    ([0, 1, 0, -1], 2)
    >>> groups.find([pa.array([8, 7, 8]), pa.array(["a", "b", None])], 3).tolist()
    [1, -1, -1]
    """

    def __init__(self, keys: Sequence[pa.Array], rows: int) -> None:
        self._ranks = [Ranks(key) for key in keys]
        self._known: list[Numbers] = []
        self.numbers: Numbers = np.zeros(rows, dtype=np.int64)
        self.count = 1
        for ranks, key in zip(self._ranks, keys, strict=True):
            codes = _next(self.numbers, ranks.count, ranks.of(key))
            known = np.unique(codes[codes >= 0])
            self._known.append(known)
            self.numbers, self.count = _numbered(codes, known), len(known)

    def find(self, keys: Sequence[pa.Array], rows: int) -> Numbers:
        """The group of each row, -1 if there is none with its keys."""
        found: Numbers = np.zeros(rows, dtype=np.int64)
        for ranks, known, key in zip(self._ranks, self._known, keys, strict=True):
            found = _numbered(_next(found, ranks.count, ranks.of(key)), known)
        return found


def _next(groups: Numbers, count: int, codes: Numbers) -> Numbers:
    """A number for the keys so far and one more: both are less than the number of registrations, so it is small."""
    return np.where((groups < 0) | (codes < 0), NOWHERE, groups * count + codes)


def _numbered(codes: Numbers, known: Numbers) -> Numbers:
    """The place of each number among those that are known, -1 if it is not among them."""
    if not len(known):
        return np.full(len(codes), NOWHERE, dtype=np.int64)
    if int(known[-1]) == len(known) - 1:  # each number up to the last one is known
        return np.where(codes < len(known), codes, NOWHERE)
    places = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.where(known[places] == codes, places, NOWHERE)
