"""Joined rows of several tables whose columns are gathered or computed when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.reads import reads, source_of
from millstream.expressions.arrow.steps import ArrowExpression

Numbers = npt.NDArray[np.int64]

Columns = Iterable[tuple[str, ArrowExpression, pa.DataType]]
"""New columns, each by its name, its expression and its type."""


@dataclass(frozen=True, eq=False)
class _Stored:
    """A column of a part."""

    part: int
    name: str


@dataclass(frozen=True, eq=False)
class _Made:
    """A column that is computed from others, which have these names there."""

    compute: ArrowExpression
    type: pa.DataType
    names: Mapping[str, _Source]

    @cached_property
    def parts(self) -> frozenset[int] | None:
        """The parts that it is made of; None if that cannot be told."""
        read = reads(self.compute)
        if read is None:
            return None
        found: frozenset[int] = frozenset()
        for name in read:
            source = self.names[name]
            below = frozenset([source.part]) if isinstance(source, _Stored) else source.parts
            if below is None:
                return None
            found |= below
        return found


_Source = _Stored | _Made


@dataclass(frozen=True, eq=False)
class _Part:
    """A table, and which of its rows there are: all of them, in their order, if `at` is None.

    `made` are columns that were computed for all rows of the table.
    """

    table: pa.Table
    at: Numbers | None = None
    made: dict[_Source, pa.Array] = field(default_factory=dict)

    def taken(self, at: Numbers) -> _Part:
        """Some of these rows."""
        return replace(self, at=at if self.at is None else self.at.take(at))

    def gathered(self, whole: pa.Array) -> pa.Array:
        """The rows that there are, of a column of the table."""
        return whole if self.at is None else gathered(whole, self.at)


class LazyRows:
    """Rows that can be read like a table: columns by name, and those rows that pass a filter.

    To choose rows costs the same for one column as for many, and what is not read later is never moved. An expression
    over the columns of one table with fewer rows than there are here is computed once for each row of that.
    """

    def __init__(
        self,
        parts: Mapping[int, _Part],
        names: Mapping[str, _Source],
        rows: int,
        known: dict[_Source, pa.Array] | None = None,
        before: tuple[LazyRows, Numbers] | None = None,
    ) -> None:
        self.num_rows = rows
        self._parts, self._names = parts, names
        self._known = {} if known is None else known
        self._before = before

    @staticmethod
    def of(table: pa.Table) -> LazyRows:
        """The rows of a table."""
        return LazyRows({0: _Part(table)}, {name: _Stored(0, name) for name in table.column_names}, table.num_rows)

    @property
    def column_names(self) -> list[str]:
        """The columns."""
        return list(self._names)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        """A column."""
        return pa.chunked_array([self._column(self._names[name])])

    def table(self) -> pa.Table:
        """All columns."""
        return pa.table({name: self._column(source) for name, source in self._names.items()})

    def filter(self, mask: pa.Array) -> LazyRows:
        """The rows for which a mask without NULL is true."""
        at = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        return self if len(at) == self.num_rows else self.taken(at)

    def taken(self, at: Numbers) -> LazyRows:
        """The rows in some places, in that order."""
        parts = {number: part.taken(at) for number, part in self._parts.items()}
        return LazyRows(parts, self._names, len(at), before=(self, at))

    def beside(self, table: pa.Table, at: Numbers) -> LazyRows:
        """The rows, and beside each the row of a table in that place."""
        number = len(self._parts)
        names = {name: _Stored(number, name) for name in table.column_names}
        parts = {**self._parts, number: _Part(table, at)}
        return LazyRows(parts, {**self._names, **names}, self.num_rows, self._known, self._before)

    def computed(self, columns: Columns, beside: bool = False) -> LazyRows:
        """The rows with new columns, beside the others or in place of them."""
        made = {name: self._source(compute, type_) for name, compute, type_ in columns}
        names = {**self._names, **made} if beside else made
        return LazyRows(self._parts, names, self.num_rows, self._known, self._before)

    def _source(self, compute: ArrowExpression, type_: pa.DataType) -> _Source:
        """A column that is to be computed, or the one that it is a copy of."""
        copied = source_of(compute)
        if copied is not None and copied.type in (None, type_):
            source = self._names[copied.name]
            if self._type(source) == type_:
                return source
        return _Made(compute, type_, self._names)

    def _type(self, source: _Source) -> pa.DataType:
        return self._parts[source.part].table[source.name].type if isinstance(source, _Stored) else source.type

    def _column(self, source: _Source) -> pa.Array:
        found = self.remembered(source)
        if found is None:
            found = self._known[source] = self._found(source)
        return found

    def _found(self, source: _Source) -> pa.Array:
        if isinstance(source, _Stored):
            part = self._parts[source.part]
            return part.gathered(_whole(part.table[source.name]))
        if source.parts is not None and len(source.parts) == 1:
            (number,) = source.parts
            part = self._parts[number]
            if part.table.num_rows < self.num_rows:
                every = LazyRows({number: replace(part, at=None)}, source.names, part.table.num_rows, part.made)
                return part.gathered(every._column(source))
        column = source.compute(LazyRows(self._parts, source.names, self.num_rows, self._known, self._before))
        return column if column.type == source.type else column.cast(source.type)

    def remembered(self, source: _Source) -> pa.Array | None:
        """A column that was read before, here or where these rows were taken from; those of tables are not worth it."""
        found = self._known.get(source)
        if found is None and self._before is not None and isinstance(source, _Made):
            rows, at = self._before
            older = rows.remembered(source)
            if older is not None:
                found = self._known[source] = gathered(older, at)
        return found


def gathered(column: pa.Array, at: Numbers) -> pa.Array:
    """The values in some places, which must exist."""
    return pc.take(column, pa.array(at), boundscheck=False)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
