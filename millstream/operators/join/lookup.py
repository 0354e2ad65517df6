"""A join with a table, without state: the whole table is at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.steps import ArrowExpression
from millstream.operators.codes import ROOM
from millstream.operators.expand_ranges import expand_ranges
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.windows.join_kind import JoinKind

Numbers = npt.NDArray[np.int64]
_MOST = 2**62


def looked_up(
    tuples: LazyRows,
    table: pa.Table,
    keys: tuple[Sequence[pa.Array], Sequence[pa.Array]],
    residual: ArrowExpression | None,
    kind: JoinKind,
) -> LazyRows:
    """The tuples, in their order, with the columns of the rows whose keys are equal and for which `residual` holds.

    >>> tuples = LazyRows.of(pa.table({"a": [1, 2]}))
    >>> looked_up(tuples, pa.table({"b": [2]}), ([pa.array([1, 2])], [pa.array([2])]), None,
    ...           JoinKind.LEFT).table().to_pylist()
    [{'a': 1, 'b': None}, {'a': 2, 'b': 2}]
    """
    table = table.combine_chunks()
    ours, theirs = _pairs(*keys)
    pairs = None
    if residual is not None:
        pairs = _paired(tuples, table, ours, theirs)
        at = np.flatnonzero(pc.fill_null(residual(pairs), False).to_numpy(zero_copy_only=False))
        if len(at) < len(theirs):
            ours, theirs, pairs = at if ours is None else ours[at], theirs[at], pairs.taken(at)
    if ours is None and kind is not JoinKind.ANTI:  # each tuple has one partner
        return tuples if kind is JoinKind.SEMI else pairs or _paired(tuples, table, None, theirs)
    if kind is JoinKind.INNER:
        return pairs or _paired(tuples, table, ours, theirs)
    matched = np.zeros(tuples.num_rows, dtype=np.bool_)
    matched[slice(None) if ours is None else ours] = True
    if kind is JoinKind.LEFT:
        assert ours is not None  # noqa: S101  (else each tuple has one)
        return _with_unmatched(tuples, table, ours, theirs, np.flatnonzero(~matched))
    return tuples.taken(np.flatnonzero(matched if kind is JoinKind.SEMI else ~matched))


def _paired(tuples: LazyRows, table: pa.Table, ours: Numbers | None, theirs: Numbers) -> LazyRows:
    return (tuples if ours is None else tuples.taken(ours)).beside(table, theirs)


def _with_unmatched(tuples: LazyRows, table: pa.Table, ours: Numbers, theirs: Numbers, missing: Numbers) -> LazyRows:
    """The pairs, and in their places the tuples without a partner: beside these is a row of NULLs."""
    nobody = table.num_rows
    padded = pa.concat_tables([table, _nulls(table.schema)]).combine_chunks()
    if len(ours) + len(missing) == tuples.num_rows:  # no tuple has two
        rows = np.full(tuples.num_rows, nobody)
        rows[ours] = theirs
        return tuples.beside(padded, rows)
    at = np.concatenate([ours, missing])
    rows = np.concatenate([theirs, np.full(len(missing), nobody)])
    order = np.argsort(at, kind="stable")
    return tuples.taken(at[order]).beside(padded, rows[order])


def _nulls(schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays([pa.nulls(1, type_) for type_ in schema.types], names=schema.names)


def _pairs(ours: Sequence[pa.Array], theirs: Sequence[pa.Array]) -> tuple[Numbers | None, Numbers]:
    """The positions of pairs with equal keys, by tuple, None if each tuple has one pair; NULL equals nothing."""
    left = right = None
    numbers = 1
    for mine, other in zip(ours, theirs, strict=True):
        codes = _Codes(other, len(mine))
        if left is not None and right is not None and numbers * codes.count > _MOST:
            known = _Codes(pa.array(np.unique(right[right < numbers])), 0)  # those that the table has are far fewer
            left, right, numbers = known.of(pa.array(left)), known.of(pa.array(right)), known.count
        left, right = codes.after(left, numbers, mine), codes.after(right, numbers, other)
        numbers *= codes.count
    assert left is not None  # noqa: S101  (there are keys)
    assert right is not None  # noqa: S101
    if numbers <= ROOM * (len(left) + len(right)) and len(np.unique(right)) == len(right):
        rows = np.full(numbers + 1, -1)
        rows[right] = np.arange(len(right))
        rows[numbers] = -1
        there = rows.take(left)
        at = np.flatnonzero(there >= 0)
        return (None, there) if len(at) == len(there) else (at, there.take(at))
    order = np.argsort(right, kind="stable")
    first, counts = _ranges(right[order], left, numbers)
    at, there = expand_ranges(first, counts)
    alone = len(at) == len(left) and bool((counts == 1).all())
    return None if alone else at, order[there]


def _ranges(ordered: Numbers, wanted: Numbers, numbers: int) -> tuple[Numbers, Numbers]:
    """Where each wanted number begins among ordered ones, and how often it is there; that after the last is none."""
    if numbers > ROOM * (len(ordered) + len(wanted)):
        first, last = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
        return first, np.where(wanted == numbers, 0, last - first)
    sizes = np.bincount(ordered, minlength=numbers + 1)
    begins = np.cumsum(sizes) - sizes
    sizes[numbers] = 0
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
        """The number of each value; `count` if the table has none, or none near it."""
        if self._low is None:
            indices = pc.fill_null(pc.index_in(column, self._known), self.count)
            codes: Numbers = indices.to_numpy(zero_copy_only=False).astype(np.int64)
            return codes
        values = pc.fill_null(column, self._low) if column.null_count else column
        far = values.to_numpy(zero_copy_only=False).astype(np.int64, copy=False) - self._low
        # As unsigned numbers those before the first one are far behind the last one.
        near: Numbers = np.minimum(far.view(np.uint64), np.uint64(self.count)).view(np.int64)
        if column.null_count:
            near[pc.is_null(column).to_numpy(zero_copy_only=False)] = self.count
        return near

    def after(self, before: Numbers | None, numbers: int, column: pa.Array) -> Numbers:
        """A number for the keys so far, which had so many, and this one."""
        found = self.of(column)
        if before is None:
            return found
        none = (before == numbers) | (found == self.count)
        return np.where(none, numbers * self.count, before * self.count + found)
