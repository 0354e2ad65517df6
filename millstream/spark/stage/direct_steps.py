"""Steps over Arrow tables between a file and the stage that reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.reads import reads, renamed, source_of, terms
from millstream.expressions.arrow.steps import Predicate
from millstream.operators.join.lookup import looked_up
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.windows.join_kind import JoinKind


@dataclass(frozen=True)
class Keep:
    """A WHERE: the tuples for which all conditions hold."""

    conditions: tuple[Predicate, ...]

    def __call__(self, rows: LazyRows, tables: Sequence[pa.Table]) -> LazyRows:
        """Those that pass."""
        holds = [condition(rows) for condition in self.conditions]
        return rows.filter(pc.fill_null(reduce(pc.and_kleene, holds), False))


@dataclass(frozen=True)
class Compute:
    """New columns, each by its name, its expression and its type; `beside` the others, or in place of them."""

    columns: tuple[tuple[str, Predicate, pa.DataType], ...]
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
    keys: tuple[tuple[Predicate, Predicate], ...]
    residual: Predicate | None
    conditions: tuple[Predicate, ...] = ()

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

    number: Predicate

    def __call__(self, rows: pa.Table) -> pa.Array:
        """The numbers."""
        return self.number(rows).cast(pa.int64())


Step = Keep | Compute | Lookup


def early(steps: Iterable[Step], tables: Sequence[pa.Schema]) -> tuple[Step, ...]:
    """The same steps, with conditions where they can be checked first: the fewer tuples go on, the better.

    A condition that reads only columns of a table is checked for the rows of that, one that reads none of them before
    the tuples look for partners there.
    """
    done: list[Step] = []
    for step in steps:
        if isinstance(step, Keep):
            for condition in step.conditions:
                for term in terms(condition):
                    _insert(done, term, tables)
        else:
            done.append(step)
    return tuple(done)


def _insert(done: list[Step], term: Predicate, tables: Sequence[pa.Schema]) -> None:
    """Put a condition after some steps, or before the first of them that it need not wait for."""
    place, moved = len(done), term
    for at in range(len(done) - 1, -1, -1):
        step = done[at]
        if isinstance(step, Compute):
            earlier = None if step.beside else renamed(moved, _copies(step))
            if earlier is None:
                break
            moved = earlier
        elif isinstance(step, Lookup):
            read, theirs = reads(moved), frozenset(tables[step.number].names)
            if read and read <= theirs and step.kind is JoinKind.INNER:
                done[at] = replace(step, conditions=(*step.conditions, moved))
                return
            if read is None or read & theirs:
                break
            place, term = at, moved
    if place and isinstance(before := done[place - 1], Keep):
        done[place - 1] = Keep((*before.conditions, term))
    else:
        done.insert(place, Keep((term,)))


def _copies(step: Compute) -> dict[str, str]:
    """The columns that are others under new names."""
    sources = ((name, source_of(compute), type_) for name, compute, type_ in step.columns)
    return {name: source.name for name, source, type_ in sources if source is not None and source.type == type_}
