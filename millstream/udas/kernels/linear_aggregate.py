"""Aggregates whose bodies only add up, as the sums that they are: no tuple is kept, and parts merge."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import Aggregate, Groups, State, Times
from millstream.aggregates.count_star import CountStar
from millstream.aggregates.sum import Sum
from millstream.expressions.tree import FLOAT64, INT64, Literal, Type
from millstream.udas.body import INWINDOW, Parameter
from millstream.udas.columns import Bools, Numbers, dtype, empty, numbers, rows_of, to_arrow
from millstream.udas.kernels.kernel import Function, compiled
from millstream.udas.kernels.linear import Column, Linear, Row, linear
from millstream.udas.kernels.source import Writer, rowwise
from millstream.udas.sql_aggregate import Contents, SqlAggregate, Versions


class LinearAggregate(SqlAggregate):
    """The state of a group is the number of its tuples, and for each column that adds up the built-in sum."""

    by_order = False

    def __init__(self, versions: Versions, contents: Contents | None = None) -> None:
        super().__init__(versions, contents)
        found = linear(self.body)
        assert found is not None  # noqa: S101  (whoever chose this class has asked)
        self._linear: Linear = found
        self._columns = [column for column, term in found.sums.items() if not _counts(term)]
        self._parts: list[Aggregate] = [CountStar([])]
        self._parts += [Sum([_total(self._type(column))]) for column in self._columns]

    # -- the algebra: that of the sums ---------------------------------------------------------------------

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """Those of the sums."""
        return tuple(component for part in self._parts for component in part.components)

    @property
    def removable(self) -> bool:
        """Whether all sums are exact."""
        return all(part.removable for part in self._parts)

    @property
    def additive(self) -> bool:
        """Whether all sums are exact."""
        return all(part.additive for part in self._parts)

    def zero(self, groups: int) -> State:
        """No tuples."""
        return tuple(array for part in self._parts for array in part.zero(groups))

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Add what the tuples add."""
        added: list[list[pa.Array]] = [[], *([column] for column in self._terms(arguments, len(times)))]
        found = [
            part.reduce(own, groups, columns, times)
            for part, own, columns in zip(self._parts, self._split(state), added, strict=True)
        ]
        return tuple(array for own in found for array in own)

    def merge(self, left: State, right: State) -> State:
        """Add the sums."""
        pairs = zip(self._parts, self._split(left), self._split(right), strict=True)
        return tuple(array for part, a, b in pairs for array in part.merge(a, b))

    def remove(self, whole: State, part: State) -> State:
        """Subtract the sums."""
        pairs = zip(self._parts, self._split(whole), self._split(part), strict=True)
        return tuple(array for aggregate, a, b in pairs for array in aggregate.remove(a, b))

    def pack(self, state: State) -> list[pa.Array]:
        """Those of the sums."""
        return [column for part, own in zip(self._parts, self._split(state), strict=True) for column in part.pack(own)]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """What was packed."""
        cut = self._split(tuple(columns))
        return tuple(array for part, own in zip(self._parts, cut, strict=True) for array in part.unpack(own))

    def _split(self, state: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        found, start = [], 0
        for part in self._parts:
            end = start + len(part.components)
            found.append(state[start:end])
            start = end
        return found

    # -- what is added, and what is returned ---------------------------------------------------------------

    def _terms(self, arguments: Sequence[pa.Array], size: int) -> list[pa.Array]:
        """For each tuple what it adds to each column."""
        terms = [self._linear.sums[column] for column in self._columns]
        if all(isinstance(term, Parameter) for term in terms):
            found = [arguments[term.index] for term in terms if isinstance(term, Parameter)]
            return [array.cast(_total(self._type(c))) for array, c in zip(found, self._columns, strict=True)]
        given = [numbers(a, p.type) for a, p in zip(arguments, self.body.parameters, strict=True)]
        results = [empty(term.type, size) for term in terms]
        self._adds(size, size, *(array for pair in [*given, *results] for array in pair))
        kinds = [FLOAT64 if self._type(column).is_float else INT64 for column in self._columns]
        return [to_arrow(result, kind) for result, kind in zip(results, kinds, strict=True)]

    def finish(self, state: State) -> pa.Array:
        """What the body returns, given the sums."""
        count = state[0]
        (_, *sums), size = self._split(state), len(count)
        found = dict(zip(self._columns, sums, strict=True))
        values = [
            self._value((table.name, i), column.type, found, count)
            for table in self.body.tables
            if table.name != INWINDOW
            for i, column in enumerate(table.columns)
        ]
        has, results = self._returned(self._linear.row, values, size)
        if self._linear.first != self._linear.row:
            once, others = self._returned(self._linear.first, values, size)
            alone = count == 1
            has = np.where(alone, once, has)
            results = [
                Numbers(np.where(alone, a.values, b.values), np.where(alone, a.nulls, b.nulls))
                for a, b in zip(others, results, strict=True)
            ]
        return rows_of(has & (count > 0), results, self.body.result, self.row)

    def _value(self, column: Column, type_: Type, sums: dict[Column, State], count: Any) -> Numbers:
        """The value of a column for each group."""
        nulls = np.zeros(len(count), dtype=np.bool_)
        if column in sums:
            total = self._parts[1 + self._columns.index(column)].finish(sums[column])
            # A NULL that is added makes the sum NULL for ever.
            value = numbers(total, type_)
            return _fitted(value.values, value.nulls | (sums[column][0] < count), type_)
        if column in self._linear.sums:
            return _fitted(count.astype(dtype(type_)), nulls, type_)
        constant = self._linear.constants[column].value
        values = np.full(len(count), 0 if constant is None else constant, dtype=dtype(type_))
        return Numbers(values, nulls | (constant is None))

    def _returned(self, row: Row | None, values: list[Numbers], size: int) -> tuple[Bools, list[Numbers]]:
        results = [empty(field.type, size) for field in self.body.result]
        if row is None:
            return np.zeros(size, dtype=np.bool_), results
        checks = [empty(condition.type, size) for condition in row.conditions]
        kernel = self._first_row if row is self._linear.first and row != self._linear.row else self._row_of
        kernel(size, size, *(array for pair in [*values, *results, *checks] for array in pair))
        has = np.ones(size, dtype=np.bool_)
        for check in checks:
            has &= check.values & ~check.nulls
        return has, results

    @cached_property
    def _adds(self) -> Function:
        writer = Writer(self.body)
        terms = [self._linear.sums[column] for column in self._columns]
        return compiled(rowwise(writer.parameters, {}, self.body, terms), "rowwise", self.body.name)

    @cached_property
    def _row_of(self) -> Function:
        return self._row_kernel(self._linear.row)

    @cached_property
    def _first_row(self) -> Function:
        assert self._linear.first is not None  # noqa: S101
        return self._row_kernel(self._linear.first)

    def _row_kernel(self, row: Row) -> Function:
        writer = Writer(self.body)
        items = [*row.items, *row.conditions]
        return compiled(rowwise((), writer.tables, self.body, items), "rowwise", self.body.name)

    def _type(self, column: Column) -> Type:
        table = self.body.table(column[0])
        assert table is not None  # noqa: S101
        return table.columns[column[1]].type


def _counts(term: object) -> bool:
    """Whether every tuple adds one."""
    return isinstance(term, Literal) and term.value == 1 and not isinstance(term.value, bool)


def _total(type_: Type) -> pa.DataType:
    return pa.float64() if type_.is_float else pa.int64()


def _fitted(values: Any, nulls: Bools, type_: Type) -> Numbers:
    """Sums in the type of their column: NULL where they do not fit it."""
    if type_.name == "float32":
        with np.errstate(over="ignore"):
            return Numbers(values.astype(np.float32).astype(np.float64), nulls)
    if type_.is_whole and type_.name != "int64":
        bound = 1 << (int(type_.name.removeprefix("int")) - 1)
        nulls = nulls | (values < -bound) | (values >= bound)
    return Numbers(values, nulls)
