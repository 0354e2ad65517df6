"""Definitions in the catalog: a frozen class for a stream, a table, a sink, a query and an aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

from millstream.aggregates.contract import Aggregate
from millstream.catalog.address import Address
from millstream.catalog.ahead import Ahead
from millstream.catalog.arrow import to_sql
from millstream.catalog.keep import Keep
from millstream.catalog.moment import Moment
from millstream.catalog.schema import Column, Schema, SqlType, sql_type
from millstream.expressions.tree import Value
from millstream.udas.body import Body
from millstream.windows.contract import Window
from millstream.windows.emit import Emit
from millstream.windows.join_kind import JoinKind
from millstream.windows.over import Over
from millstream.windows.panes import Paned
from millstream.windows.reach import Reach

Options = Mapping[str, str]


class TimeStamp(Enum):
    """Where a stream's time stamp comes from [Bai 2006, section 2]."""

    EXTERNAL = "external"  # a column of the data
    INTERNAL = "internal"  # stamped on arrival, into the column current_time
    LATENT = "latent"  # made only by an operator that needs time


class OnBadFile(Enum):
    """What becomes of a file that cannot be read as its stream was declared."""

    STOP = "stop"  # the query stops, and goes on once the file is whole
    REJECT = "reject"  # the file goes to REJECTED as a whole, and the query lives


INTERNAL_COLUMN = "current_time"
"""The reserved column name that asks for an internal time stamp."""

REJECTED_SCHEMA = Schema([Column(n, sql_type("string")) for n in ("raw", "reason", "origin")])
"""The side output `s.REJECTED`: the row's text, why it did not parse, and the file or producer it came from."""


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
    windowed: WindowAggregateSpec | None = None
    framed: tuple[OverAggregateSpec, ...] = ()
    assigned: AssignWindowsSpec | None = None
    other_times: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The columns that it gives."""
        return Schema(i.column for i in self.items)

    @property
    def unnested(self) -> tuple[AggregateCall, ...]:
        """The calls whose answers are lists of rows."""
        calls = [*(self.windowed.calls if self.windowed else ()), *(c.call for f in self.framed for c in f.calls)]
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


@dataclass(frozen=True)
class Stream:
    """A stream fed by a source; the columns that are `computed` are made from those that it delivers."""

    name: str
    schema: Schema
    source: Address | None
    time: str | None = None
    time_stamp: TimeStamp = TimeStamp.LATENT
    slack: timedelta = timedelta(0)
    ahead: Ahead | None = None
    idle_after: timedelta | None = None
    punctuated_by: Value | None = None
    on_bad_file: OnBadFile = OnBadFile.STOP
    options: Options = field(default_factory=dict)
    computed: tuple[Item, ...] = ()
    text: str = field(default="", compare=False)
    keep: Keep | None = None

    @property
    def arriving(self) -> Schema:
        """The columns that the source delivers: all but those that are computed and an internal time stamp."""
        made = {item.name for item in self.computed}
        if self.time_stamp is TimeStamp.INTERNAL:
            made |= {column.name for column in self.schema if column.name.lower() == INTERNAL_COLUMN}
        return Schema(column for column in self.schema if column.name not in made)

    @property
    def landed(self) -> Schema:
        """The columns that are in its log: those that arrive, and an internal time stamp."""
        made = {item.name for item in self.computed}
        return Schema(column for column in self.schema if column.name not in made)

    @property
    def progresses_by_slack(self) -> bool:
        """Whether time stamps alone promise something: not where punctuation does and no slack was given."""
        return self.punctuated_by is None or self.slack > timedelta(0)


@dataclass(frozen=True)
class DerivedStream:
    """A stream defined by a SELECT over other streams."""

    name: str
    select: Select
    text: str
    keep: Keep | None = None

    @property
    def schema(self) -> Schema:
        """The columns of its SELECT."""
        return self.select.schema

    @property
    def time(self) -> str | None:
        """Its time-stamp column, if the SELECT kept one."""
        return self.select.time


@dataclass(frozen=True)
class Table:
    """A stored relation, read from a source."""

    name: str
    schema: Schema
    source: Address
    options: Options = field(default_factory=dict)
    text: str = field(default="", compare=False)

    @property
    def origin(self) -> str:
        """Where its rows are from, in words."""
        return str(self.source)


@dataclass(frozen=True)
class HistoryTable(Table):
    """What is kept of a stream, as a stored relation."""

    stream: Stream = field(kw_only=True)
    spec: HistorySpec = field(kw_only=True)

    @property
    def origin(self) -> str:
        """Where its rows are from, in words."""
        until = "" if self.spec.until is None else f" UNTIL {self.spec.until}"
        return f"its history SINCE {self.spec.since}{until}"


@dataclass(frozen=True)
class StoredTable(Table):
    """A table whose rows are kept in the home: INSERT, UPDATE and DELETE change them."""


@dataclass(frozen=True)
class Sink:
    """A place where queries put their rows."""

    name: str
    address: Address
    options: Options = field(default_factory=dict)
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Output:
    """One of the sinks that a query feeds with what it has read, and what it gets: columns, and a condition."""

    sink: str
    items: tuple[Item, ...]
    where: Value | None


@dataclass(frozen=True)
class Query:
    """A persistent query: a name, a SELECT, and the sink it feeds (None: its results are kept to be read).

    One that splits what it reads has several `outputs`, and the SELECT and the sink are those of the first. `start` is
    where it begins in the histories that it reads. That of a view has `keys`: of its results, the newest for each key
    is kept. One that feeds a stream names it in `into`. One that has `parameters` is a template: it answers for each of
    its registrations.
    """

    name: str
    select: Select
    sink: str | None
    text: str
    outputs: tuple[Output, ...] = ()
    start: Moment | None = None
    keys: tuple[str, ...] = ()
    into: str | None = None
    parameters: Schema | None = None

    @property
    def sinks(self) -> tuple[str, ...]:
        """All sinks that it feeds."""
        return tuple(o.sink for o in self.outputs) or ((self.sink,) if self.sink else ())


NEWEST = "__newest"
"""The column with the time stamps by which the rows of a view are compared, if it shows none itself."""


@dataclass(frozen=True)
class View(Table):
    """The newest answer of a query for each key, as a relation; the query has the same name."""

    query: Query = field(kw_only=True)


@dataclass(frozen=True)
class UserAggregate:
    """An aggregate that a user has written in SQL. A base and a window version of one name are two of them."""

    name: str
    parameters: Schema
    result: Schema
    body: Body
    window: bool
    algebraic: bool
    text: str

    @property
    def blocking(self) -> bool:
        """Whether it answers only at the end of its input: TERMINATE returns something."""
        return self.body.blocking


@dataclass(frozen=True)
class PythonAggregate:
    """An aggregate that is a class of Python; `place` is 'module:Class'."""

    name: str
    parameters: Schema
    result: Schema
    place: str
    window: bool
    algebraic: bool
    text: str


Relation = Stream | DerivedStream | Table
Definition = Relation | Sink | Query | UserAggregate | PythonAggregate
