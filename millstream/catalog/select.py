"""The bound SELECT: what it reads, its windows and joins, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from millstream.aggregates.contract import Aggregate
from millstream.catalog.arrow import to_sql
from millstream.catalog.moment import Moment
from millstream.catalog.schema import Column, Schema, SqlType
from millstream.expressions.tree import Value
from millstream.windows.contract import Window
from millstream.windows.emit import Emit
from millstream.windows.join_kind import JoinKind
from millstream.windows.over import Over
from millstream.windows.panes import Paned
from millstream.windows.reach import Reach

if TYPE_CHECKING:
    from millstream.catalog.definitions import Table

SIDES = ("REJECTED", "LATE")
"""The side outputs of streams; no stream or table may have a name that ends like one, as "s.LATE"."""


def side_output(source: str) -> tuple[str, str]:
    """The name of a relation, and which side output of it is meant, if any; names may hold dots.

    >>> side_output("s.REJECTED"), side_output("a.b"), side_output("a.b.LATE"), side_output("LATE")
    (('s', 'REJECTED'), ('a.b', ''), ('a.b', 'LATE'), ('LATE', ''))
    """
    name, dot, side = source.rpartition(".")
    return (name, side) if dot and side in SIDES else (source, "")


@dataclass(frozen=True)
class Item:
    """One column of a SELECT: its name, its bound expression and the expression's type."""

    name: str
    expression: Value
    type: SqlType

    @property
    def column(self) -> Column:
        """The column that it becomes."""
        return Column(self.name, self.type)


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate of a windowed SELECT: its algebra and what it reads; its answer is the column `name`.

    A user-defined aggregate answers with lists of rows, which become rows of the result; `rows` are their columns.
    `reads` are the tables that its body reads.
    """

    name: str
    aggregate: Aggregate
    arguments: tuple[Value, ...]
    condition: Value | None
    text: str
    rows: Schema | None = None
    reads: tuple[Table, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that can be read above: the answer, or those of its rows."""
        if self.rows is None:
            return (Column(self.name, to_sql(self.aggregate.result)),)
        if len(self.rows) == 1:
            return (Column(self.name, self.rows[0].type),)
        return tuple(Column(f"{self.name}_{i}", column.type) for i, column in enumerate(self.rows))


@dataclass(frozen=True)
class WindowAggregateSpec:
    """The part of a SELECT that is computed per window and group; items and HAVING read what it gives.

    The first `partition` keys also partition the window (PA, PARTITION BY). Without `time` tuples are stamped on
    arrival. `from_first` is ORIGIN FIRST.
    """

    keys: tuple[Item, ...]
    calls: tuple[AggregateCall, ...]
    window: Window[Any]
    time: str | None
    having: Value | None = None
    partition: int = 0
    emit: Emit | None = None
    from_first: bool = False


@dataclass(frozen=True)
class OverCallSpec:
    """One aggregate with OVER: its frame is that of `window`."""

    call: AggregateCall
    window: Over


@dataclass(frozen=True)
class OverAggregateSpec:
    """The OVER calls of a SELECT that have one PARTITION BY; `carried` are the columns that pass beside the answers."""

    keys: tuple[Item, ...]
    calls: tuple[OverCallSpec, ...]
    time: str | None
    carried: tuple[str, ...]


@dataclass(frozen=True)
class AssignWindowsSpec:
    """Windows without aggregates: each tuple once per window that it is in, with window_start and window_end."""

    window: Paned
    time: str


class UnionKind(Enum):
    """How several SELECTs become one."""

    ALL = "UNION ALL"
    UNIQUE = "UNION"  # equal tuples once
    ORDERED = "MERGE ORDERED"  # in the order of their time stamps


@dataclass(frozen=True)
class UnionSpec:
    """SELECTs whose columns have the same names and types, as one."""

    parts: tuple[Select, ...]
    meeting: UnionKind
    time: str | None = None


@dataclass(frozen=True)
class Equality:
    """A term of a join: an expression of the left input equals one of the right, both cast to one type."""

    left: Value
    right: Value
    type: SqlType


@dataclass(frozen=True)
class WindowJoinSpec:
    """Two inputs joined within a window. The columns of both have different names; so do their time stamps."""

    left: Select
    right: Select
    kind: JoinKind
    reach: Reach
    times: tuple[str, str]
    equalities: tuple[Equality, ...] = ()
    residual: Value | None = None


@dataclass(frozen=True)
class TableJoinSpec:
    """An input joined with a stored table, or two tables. The columns of both have different names.

    `equalities` say the same as the condition, for joins of a stream that only ask whether there is a row.
    """

    left: Select
    right: Select
    kind: JoinKind
    condition: Value | None = None
    equalities: tuple[Equality, ...] = ()


@dataclass(frozen=True)
class HistorySpec:
    """What is kept of a stream from one moment to before another, None to its end."""

    stream: str
    since: Moment
    until: Moment | None = None


@dataclass(frozen=True)
class SortKey:
    """A term of ORDER BY."""

    value: Value
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class RegistrationColumn:
    """A column of registrations: its name where it is read, and the one that registrations have for it."""

    name: str
    own: str
    type: SqlType

    @property
    def column(self) -> Column:
        """The column that is read."""
        return Column(self.name, self.type)


@dataclass(frozen=True)
class MatchSpec:
    """Tuples with the registrations of a template that they meet; of their columns `registration` is their number."""

    below: Select
    template: str
    registration: str
    columns: tuple[RegistrationColumn, ...]
    condition: Value | None


@dataclass(frozen=True)
class Select:
    """A bound SELECT: every name resolved, every expression typed, columns without qualifiers.

    `source` is another SELECT or several, the name of a relation (`s`, `s.REJECTED`), or None for one without FROM.
    A join has several time stamps: `other_times` are the columns besides `time` that also make progress.
    """

    source: Select | UnionSpec | WindowJoinSpec | TableJoinSpec | MatchSpec | HistorySpec | str | None
    items: tuple[Item, ...]
    where: Value | None
    bounded: bool
    time: str | None = None
    distinct: bool = False
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int | None = None
    window_aggregate: WindowAggregateSpec | None = None
    over_aggregates: tuple[OverAggregateSpec, ...] = ()
    window_assignment: AssignWindowsSpec | None = None
    other_times: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The columns that it gives."""
        return Schema(i.column for i in self.items)

    @property
    def unnested_calls(self) -> tuple[AggregateCall, ...]:
        """The calls whose answers are lists of rows."""
        calls = [
            *(self.window_aggregate.calls if self.window_aggregate else ()),
            *(c.call for f in self.over_aggregates for c in f.calls),
        ]
        return tuple(call for call in calls if call.rows is not None)

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations at its bottom, each once; `s` also for `s.REJECTED`."""
        match self.source:
            case None:
                return ()
            case str():
                return (side_output(self.source)[0],)
            case HistorySpec(stream=stream):
                return (stream,)
        names = (name for below in self.inputs for name in below.reads)
        return tuple(dict.fromkeys(names))

    @property
    def inputs(self) -> tuple[Select, ...]:
        """The SELECTs that it reads."""
        match self.source:
            case Select():
                return (self.source,)
            case UnionSpec(parts=parts):
                return parts
            case WindowJoinSpec() | TableJoinSpec():
                return (self.source.left, self.source.right)
            case MatchSpec(below=below):
                return (below,)
        return ()
