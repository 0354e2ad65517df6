"""What happens to tuples between their file and the stage that reads them by itself: steps over Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from millstream.language.predicates import Predicate
from millstream.operators.lookup import looked_up
from millstream.windows.join_kind import JoinKind


@dataclass(frozen=True)
class Keep:
    """A WHERE: the tuples for which a condition holds."""

    condition: Predicate

    def __call__(self, rows: pa.Table, tables: Sequence[pa.Table]) -> pa.Table:
        """Those that pass."""
        return rows.filter(pc.fill_null(self.condition(rows), False))


@dataclass(frozen=True)
class Compute:
    """New columns, each by its name, its expression and its type; `beside` the others, or in place of them."""

    columns: tuple[tuple[str, Predicate, pa.DataType], ...]
    beside: bool = False

    def __call__(self, rows: pa.Table, tables: Sequence[pa.Table]) -> pa.Table:
        """The tuples with the new columns."""
        made = {name: _typed(compute(rows), type_) for name, compute, type_ in self.columns}
        others = dict(zip(rows.column_names, rows.columns, strict=True)) if self.beside else {}
        return pa.table({**others, **made})


@dataclass(frozen=True)
class Lookup:
    """A join with a table, which has a number among those that came along; `keys` must be equal."""

    number: int
    kind: JoinKind
    keys: tuple[tuple[Predicate, Predicate], ...]
    residual: Predicate | None

    def __call__(self, rows: pa.Table, tables: Sequence[pa.Table]) -> pa.Table:
        """The tuples with what they match."""
        table = tables[self.number]
        keys = [left(rows) for left, _ in self.keys], [right(table) for _, right in self.keys]
        return looked_up(rows, table, keys, self.residual, self.kind)


@dataclass(frozen=True)
class Wide:
    """Whole numbers of any size in one type."""

    number: Predicate

    def __call__(self, rows: pa.Table) -> pa.Array:
        """The numbers."""
        return self.number(rows).cast(pa.int64())


Step = Keep | Compute | Lookup


def _typed(column: pa.Array, type_: pa.DataType) -> pa.Array:
    return column if column.type == type_ else column.cast(type_)
