"""Definitions in the catalog: a frozen class for a stream, a table, a sink, a query and an aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from millstream.catalog.address import Address
from millstream.catalog.ahead import Ahead
from millstream.catalog.keep import Keep
from millstream.catalog.moment import Moment
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.catalog.select import HistorySpec, Item, Select
from millstream.expressions.tree import Value
from millstream.udas.body import Body

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


@dataclass(frozen=True)
class Stream:
    """A stream fed by a source; the columns that are `computed` are made from those that it delivers.

    In plans a stream without a source is `fed`: its source is what queries and statements put into it.
    """

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
    fed: bool = False

    @property
    def arriving_schema(self) -> Schema:
        """The columns that the source delivers: all but those that are computed and an internal time stamp."""
        made = {item.name for item in self.computed}
        if self.time_stamp is TimeStamp.INTERNAL:
            made |= {column.name for column in self.schema if column.name.lower() == INTERNAL_COLUMN}
        return Schema(column for column in self.schema if column.name not in made)

    @property
    def landed_schema(self) -> Schema:
        """The columns that are in its log: those that arrive, and an internal time stamp."""
        made = {item.name for item in self.computed}
        return Schema(column for column in self.schema if column.name not in made)

    @property
    def progresses_by_slack(self) -> bool:
        """Whether time stamps alone promise something: not where punctuation does and no slack was given.

        What is put into a stream comes with marks, and who puts it there knows what these promise.
        """
        return not self.fed and (self.punctuated_by is None or self.slack > timedelta(0))


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
