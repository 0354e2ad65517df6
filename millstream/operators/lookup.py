"""Tuples and the rows of a table that they match, without state: the table is at hand as a whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

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
    left, right = None, None
    numbers = 1
    for mine, other in zip(ours, theirs, strict=True):
        codes = _Codes(other, len(mine))
        if left is not None and right is not None and numbers * codes.count > _MOST:
            known = _Codes(pa.array(np.unique(right[right >= 0])), 0)  # those that the table has are far fewer
            left, right, numbers = known.of(pa.array(left)), known.of(pa.array(right)), known.count
        left, right = codes.after(left, mine), codes.after(right, other)
        numbers *= codes.count
    assert left is not None  # noqa: S101  (there are keys)
    assert right is not None  # noqa: S101
    order = np.argsort(right, kind="stable")
    first, counts = _ranges(right[order], left, numbers)
    if not len(counts) or counts.max() <= 1:
        at = np.flatnonzero(counts)
        return at, order[first if len(at) == len(first) else first[at]]
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


class _Codes:
    """Small numbers for the values of a key that a table has: for whole numbers near each other, their distances."""

    def __init__(self, values: pa.Array, wanted: int) -> None:
        self._known = values.unique().drop_null()
        self.count = max(len(self._known), 1)
        self._low: int | None = None
        if pt.is_integer(self._known.type) and len(self._known):
            ends = pc.min_max(self._known).as_py()
            if ends["max"] - ends["min"] < ROOM * (len(self._known) + wanted):
                self._low, self.count = ends["min"], ends["max"] - ends["min"] + 1

    def of(self, column: pa.Array) -> Numbers:
        """The number of each value; -1 if the table has none, or none near it."""
        if self._low is None:
            indices = pc.fill_null(pc.index_in(column, self._known), -1)
            codes: Numbers = indices.to_numpy(zero_copy_only=False).astype(np.int64)
            return codes
        values = pc.fill_null(column, self._low) if column.null_count else column
        far = values.to_numpy(zero_copy_only=False).astype(np.int64) - self._low
        near = far.view(np.uint64) < np.uint64(self.count)
        if column.null_count:
            near &= pc.is_valid(column).to_numpy(zero_copy_only=False)
        found: Numbers = far if near.all() else np.where(near, far, -1)
        return found

    def after(self, before: Numbers | None, column: pa.Array) -> Numbers:
        """A number for the keys so far and this one."""
        found = self.of(column)
        return found if before is None else np.where((before < 0) | (found < 0), -1, before * self.count + found)
