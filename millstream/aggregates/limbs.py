"""Exact totals of whole numbers: each is kept in limbs of 32 bits, so that no order of adding can overflow.

Limbs are int64 arrays, lowest first. All but the highest are in [0, 2^32); the highest has the sign.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from millstream.aggregates.columns import Bools, Floats, Ints, decimal_words, is_narrow, to_ints
from millstream.aggregates.contract import Groups

Limbs = tuple[Ints, ...]

BITS = 32
MASK = (1 << BITS) - 1


def width(kind: pa.DataType) -> int:
    """How many limbs hold any total of a type."""
    return 2 if is_narrow(kind) else 4


def add(limbs: Limbs, groups: Groups, array: pa.Array) -> None:
    """Add whole numbers or decimals to the totals of their groups, in place; there must be no NULL.

    >>> limbs = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    >>> add(limbs, np.array([0, 0]), pa.array([-1, 2**40]))
    >>> limbs
    (array([4294967295]), array([255]))
    """
    if not len(groups):
        return
    if is_narrow(array.type):
        values = to_ints(array)
        largest = max(-int(values.min()), int(values.max()))
        if largest * len(values) < 1 << 62:
            np.add.at(limbs[0], groups, values)
        else:
            np.add.at(limbs[0], groups, values & MASK)
            np.add.at(limbs[1], groups, values >> BITS)
    else:
        words = decimal_words(array)
        for i in range(2):
            np.add.at(limbs[2 * i], groups, words[:, i] & MASK)
            np.add.at(limbs[2 * i + 1], groups, (words[:, i] >> BITS) & MASK if i == 0 else words[:, i] >> BITS)
    # A few tuples for many groups: carry only where they fell. That an index repeats does no harm.
    carry(limbs, groups if 4 * len(groups) < len(limbs[0]) else slice(None))


def carry(limbs: Limbs, where: Groups | slice = slice(None)) -> None:
    """Bring all but the highest limb back into [0, 2^32), in place."""
    for limb, above in pairwise(limbs):
        found = limb[where]
        above[where] += found >> BITS
        limb[where] = found & MASK


def merged(left: Limbs, right: Limbs) -> Limbs:
    """The sums of totals."""
    limbs = tuple(a + b for a, b in zip(left, right, strict=True))
    carry(limbs)
    return limbs


def removed(whole: Limbs, part: Limbs) -> Limbs:
    """The differences of totals."""
    limbs = tuple(a - b for a, b in zip(whole, part, strict=True))
    carry(limbs)
    return limbs


def words(limbs: Limbs) -> tuple[Ints, Ints, Bools]:
    """The low and the high 64 bits of totals, and whether 128 bits are enough."""
    low = limbs[0] | limbs[1] << BITS
    if len(limbs) == 2:
        return low, limbs[1] >> BITS, np.ones(len(low), dtype=np.bool_)
    return low, limbs[2] | limbs[3] << BITS, fits_int32(limbs[3])


def fits_int32(values: Ints) -> Bools:
    """Whether values fit 32 bits with their sign."""
    return (values >= -(1 << 31)) & (values < 1 << 31)


def fits_digits(low: Ints, high: Ints, digits: int) -> Bools:
    """Whether numbers given by their words have no more than so many digits."""
    bound = 10**digits - 1
    unsigned = low.view(np.uint64)
    (top, top_low), (bottom, bottom_low) = ((n >> 64, n & ((1 << 64) - 1)) for n in (bound, -bound))
    below: Bools = (high < top) | ((high == top) & (unsigned <= np.uint64(top_low)))
    above: Bools = (high > bottom) | ((high == bottom) & (unsigned >= np.uint64(bottom_low)))
    return below & above


def as_floats(limbs: Limbs) -> Floats:
    """Totals of two limbs, rounded once."""
    return limbs[1].astype(np.float64) * (1 << BITS) + limbs[0]
