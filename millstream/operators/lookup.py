"""Tuples and the rows of a table that they match, without state: the table is at hand as a whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.language.predicates import Predicate
from millstream.operators.codes import ROOM
from millstream.windows.join_kind import JoinKind

Numbers = npt.NDArray[np.int64]
_MOST = 2**62


def looked_up(
    tuples: pa.Table,
    table: pa.Table,
    keys: tuple[Sequence[pa.Array], Sequence[pa.Array]],
    residual: Predicate | None,
    kind: JoinKind,
) -> pa.Table:
    """The tuples, in their order, with the columns of the rows whose keys are equal and for which `residual` holds.

    >>> looked_up(pa.table({"a": [1, 2]}), pa.table({"b": [2]}), ([pa.array([1, 2])], [pa.array([2])]), None,
    ...           JoinKind.LEFT).to_pylist()
    [{'a': 1, 'b': None}, {'a': 2, 'b': 2}]
    """
    ours, theirs = _pairs(*keys)
    pairs = None
    if residual is not None:
        pairs = _beside(_taken(tuples, ours), _taken(table, theirs))
        holds = pc.fill_null(residual(pairs), False)
        if not pc.all(holds).as_py():
            at = holds.to_numpy(zero_copy_only=False)
            ours, theirs, pairs = ours[at], theirs[at], pairs.filter(holds)
    if not kind.paired:
        matched = np.zeros(tuples.num_rows, dtype=np.bool_)
        matched[ours] = True
        return tuples.filter(pa.array(matched if kind is JoinKind.SEMI else ~matched))
    if kind is JoinKind.LEFT:
        alone = np.ones(tuples.num_rows, dtype=np.bool_)
        alone[ours] = False
        if alone.any():
            return _with_unmatched(tuples, table, ours, theirs, np.flatnonzero(alone))
    return _beside(_taken(tuples, ours), _taken(table, theirs)) if pairs is None else pairs


def _taken(rows: pa.Table, at: Numbers) -> pa.Table:
    """Some rows; if each is wanted once and in order, no copy is made."""
    if len(at) == rows.num_rows and (at == np.arange(len(at))).all():
        return rows
    return rows.take(pa.array(at))


def _with_unmatched(tuples: pa.Table, table: pa.Table, ours: Numbers, theirs: Numbers, missing: Numbers) -> pa.Table:
    at = np.concatenate([ours, missing])
    rows = pa.array(np.concatenate([theirs, np.zeros_like(missing)]), mask=np.arange(len(at)) >= len(ours))
    order = np.argsort(at, kind="stable")
    return _beside(_taken(tuples, at[order]), table.take(rows.take(pa.array(order))))


def _beside(tuples: pa.Table, rows: pa.Table) -> pa.Table:
    columns = [*tuples.columns, *rows.columns]
    return pa.Table.from_arrays(columns, names=[*tuples.column_names, *rows.column_names])


def _pairs(ours: Sequence[pa.Array], theirs: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
    """The positions of pairs with equal keys, by tuple; NULL equals nothing."""
    left, right = np.zeros(len(ours[0]), dtype=np.int64), np.zeros(len(theirs[0]), dtype=np.int64)
    numbers = 1
    for mine, other in zip(ours, theirs, strict=True):
        values = other.unique().drop_null()
        if numbers * len(values) > _MOST:  # those that the table has are far fewer
            known = pa.array(np.unique(right[right >= 0]))
            left, right = (_numbered(np.zeros_like(side), pa.array(side), known) for side in (left, right))
            numbers = len(known)
        left = _numbered(left, mine, values)
        right = _numbered(right, other, values)
        numbers *= max(len(values), 1)
    order = np.argsort(right, kind="stable")
    first, counts = _ranges(right[order], left, numbers)
    if (counts == 1).all():
        return np.arange(len(left)), order[first]
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    at = np.repeat(np.arange(len(left)), counts)
    # Counted through, and for each tuple moved to where its rows begin.
    there = np.arange(total) + np.repeat(first - (ends - counts), counts)
    return at, order[there]


def _ranges(ordered: Numbers, wanted: Numbers, numbers: int) -> tuple[Numbers, Numbers]:
    """Where each wanted number, -1 for none, begins among ordered ones, and how often it is there."""
    if numbers > ROOM * (len(ordered) + len(wanted)):
        first, last = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
        return first, np.where(wanted < 0, 0, last - first)
    sizes = np.bincount(ordered[ordered >= 0], minlength=numbers + 1)  # the last one stands for -1, and has none
    begins = len(ordered) - int(sizes.sum()) + np.cumsum(sizes) - sizes
    return begins[wanted], sizes[wanted]


def _numbered(before: Numbers, column: pa.Array, values: pa.Array) -> Numbers:
    """A number for the keys so far and one more; -1 if the table has no such key."""
    found = pc.fill_null(pc.index_in(column, values), -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where((before < 0) | (found < 0), -1, before * max(len(values), 1) + found)
