"""Values as codes that sort as the values do, so that one algorithm serves every type.

Numbers, times and bools become int64; strings and long decimals stay as they are, in object arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.aggregates.columns import Bools, Ints, decimals, is_narrow, nullable, to_floats, to_ints
from millstream.aggregates.contract import Groups

Codes = npt.NDArray[Any]

_NAN = np.array(np.nan).view(np.int64)
_POSITIVE = np.int64((1 << 63) - 1)


def coded(kind: pa.DataType) -> pa.DataType:
    """The type of the codes of a type: int64, or the type itself.

    >>> coded(pa.float32()), coded(pa.string())
    (DataType(int64), DataType(string))
    """
    if is_narrow(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_date32(kind) or pt.is_timestamp(kind):
        return pa.int64()
    return kind


def is_ordered(kind: pa.DataType) -> bool:
    """Whether values of a type have codes."""
    return bool(coded(kind) == pa.int64() or pt.is_string(kind) or pt.is_decimal128(kind))


def encode(array: pa.Array) -> Codes:
    """Codes of values; there must be no NULL. NaN is greater than any number, and 0.0 is -0.0, as in Spark.

    >>> codes = encode(pa.array([float("inf"), float("nan"), -1.0, -2.0, 0.0]))
    >>> np.argsort(codes)
    array([3, 2, 4, 0, 1])
    """
    kind = array.type
    if is_narrow(kind):
        return to_ints(array)
    if pt.is_floating(kind):
        return _flip(to_floats(array))
    if pt.is_boolean(kind):
        flags: Bools = array.to_numpy(zero_copy_only=False)
        return flags.astype(np.int64)
    if pt.is_date32(kind):
        return to_ints(array.view(pa.int32()))
    if pt.is_timestamp(kind):
        return to_ints(array.view(pa.int64()))
    return objects(array.to_pylist())


def decode(codes: Codes, valid: Bools, kind: pa.DataType) -> pa.Array:
    """Values of codes, NULL where they are not valid; the opposite of `encode`."""
    if codes.dtype == object:
        return pa.array(codes, type=kind, mask=~valid)
    if pt.is_decimal128(kind):
        return decimals(codes, codes >> 63, valid, kind)
    codes = np.where(valid, codes, 0)
    if pt.is_floating(kind):
        floats = (codes ^ ((codes >> 63) & _POSITIVE)).view(np.float64)
        return nullable(floats.astype(kind.to_pandas_dtype()), valid, kind)
    if pt.is_boolean(kind):
        return nullable(codes != 0, valid, kind)
    if pt.is_date32(kind):
        return nullable(codes.astype(np.int32), valid, pa.int32()).view(kind)
    if pt.is_timestamp(kind):
        return nullable(codes, valid, pa.int64()).view(kind)
    return nullable(codes.astype(kind.to_pandas_dtype()), valid, kind)


def objects(values: list[Any]) -> Codes:
    """An object array of values, even where they are lists."""
    return np.fromiter(values, dtype=object, count=len(values))


def unseen(kind: pa.DataType, groups: int, largest: bool) -> Codes:
    """What any code beats, in the search for the largest or the smallest."""
    if coded(kind) != pa.int64():
        return np.full(groups, None, dtype=object)
    limits = np.iinfo(np.int64)
    return np.full(groups, limits.min if largest else limits.max, dtype=np.int64)


def fold(best: Codes, groups: Groups, values: pa.Array, largest: bool) -> None:
    """Let the largest or smallest value of each group win against what it has, in place; there must be no NULL.

    >>> best = unseen(pa.string(), 2, largest=True)
    >>> fold(best, np.array([0, 0, 0]), pa.array(["a", "c", "b"]), largest=True)
    >>> best
    array(['c', None], dtype=object)
    """
    choose = np.maximum if largest else np.minimum
    if best.dtype != object:
        choose.at(best, groups, encode(values))
        return
    # Comparing objects is slow: only those that occur are sorted, their ranks find the winners of this batch, and
    # no more than one value per group meets the state.
    ranks, ordered = _ranked(values)
    loser = -1 if largest else len(ordered)
    winners = np.full(len(best), loser, dtype=np.int64)
    choose.at(winners, groups, ranks)
    touched = np.flatnonzero(winners != loser)
    found = objects(ordered.take(pa.array(winners[touched])).to_pylist())
    best[touched] = better(best[touched], found, largest)


def better(left: Codes, right: Codes, largest: bool) -> Codes:
    """The larger or the smaller of each two codes."""
    if left.dtype != object:
        winner: Codes = (np.maximum if largest else np.minimum)(left, right)
        return winner
    choose = max if largest else min
    return objects([b if a is None else a if b is None else choose(a, b) for a, b in zip(left, right, strict=True)])


def _flip(values: npt.NDArray[np.float64]) -> Ints:
    """IEEE floats sort as their bits do, once those of negative ones are turned over."""
    bits = (values + 0.0).view(np.int64)
    nan = np.isnan(values)
    if nan.any():
        bits[nan] = _NAN
    signs = bits >> 63
    signs &= _POSITIVE
    bits ^= signs
    return bits


def _ranked(values: pa.Array) -> tuple[Ints, pa.Array]:
    """For each value its rank, and the different values in order."""
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    return ranks[encoded.indices.to_numpy()], encoded.dictionary.take(order)
