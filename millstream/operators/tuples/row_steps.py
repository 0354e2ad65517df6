"""Filters, projections and joins with small tables, over Arrow: what tuples go through between file and stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.steps import ArrowExpression
from millstream.operators.join.lookup import looked_up
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.windows.join_kind import JoinKind


@dataclass(frozen=True)
class Keep:
    """A WHERE: the tuples for which all conditions hold."""

    conditions: tuple[ArrowExpression, ...]

    def __call__(self, rows: LazyRows, tables: Sequence[pa.Table]) -> LazyRows:
        """Those that pass."""
        holds = [condition(rows) for condition in self.conditions]
        return rows.filter(pc.fill_null(reduce(pc.and_kleene, holds), False))


@dataclass(frozen=True)
class Compute:
    """New columns, each by its name, its expression and its type; `beside` the others, or in place of them."""

    columns: tuple[tuple[str, ArrowExpression, pa.DataType], ...]
    beside: bool = False

    def __call__(self, rows: LazyRows, tables: Sequence[pa.Table]) -> LazyRows:
        """The tuples with the new columns."""
        return rows.computed(self.columns, self.beside)


@dataclass(frozen=True)
class Lookup:
    """A join with a table, which has a number among those that came along; `keys` must be equal.

    Only rows of the table for which all of `conditions` hold have partners.
    """

    number: int
    kind: JoinKind
    keys: tuple[tuple[ArrowExpression, ArrowExpression], ...]
    residual: ArrowExpression | None
    conditions: tuple[ArrowExpression, ...] = ()

    def __call__(self, rows: LazyRows, tables: Sequence[pa.Table]) -> LazyRows:
        """The tuples with what they match."""
        table = tables[self.number]
        for condition in self.conditions:
            table = table.filter(pc.fill_null(condition(table), False))
        keys = [left(rows) for left, _ in self.keys], [right(table) for _, right in self.keys]
        return looked_up(rows, table, keys, self.residual, self.kind)


@dataclass(frozen=True)
class Wide:
    """Whole numbers of any size in one type."""

    number: ArrowExpression

    def __call__(self, rows: pa.Table) -> pa.Array:
        """The numbers."""
        return self.number(rows).cast(pa.int64())


Step = Keep | Compute | Lookup
