"""The bodies of user-defined aggregates as data: every name resolved, every value typed, every cast written out.

A body is made of statements over local tables. Values are trees of the nodes in `millstream.expressions.tree`, and of
those here, which only bodies have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from millstream.expressions.tree import BOOL, Literal, Type, Value

INWINDOW = "inwindow"
"""The local table that the system keeps for window aggregates."""


@dataclass(frozen=True)
class Field:
    """A column of a local table, of the parameters or of the result."""

    name: str
    type: Type


# -- values ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter(Value):
    """A parameter: of the tuple that has come, in EXPIRE of the one that goes, in TERMINATE of the last."""

    index: int
    name: str
    type: Type


@dataclass(frozen=True)
class ColumnOf(Value):
    """A column of the row of a source that is looked at; sources are numbered throughout an aggregate."""

    source: int
    index: int
    name: str
    type: Type


@dataclass(frozen=True)
class Oldest(Value):
    """A column of the oldest tuple of `inwindow`, NULL if there is none."""

    index: int
    type: Type


@dataclass(frozen=True)
class GroupValue(Value):
    """A value of a group: first come the keys, then the answers of its aggregates."""

    index: int
    type: Type


@dataclass(frozen=True)
class ScalarQuery(Value):
    """The value of the one row that a SELECT gives, NULL if it gives none."""

    query: TableQuery
    type: Type


@dataclass(frozen=True)
class Exists(Value):
    """Whether a SELECT gives a row."""

    query: TableQuery
    type: Type = BOOL


@dataclass(frozen=True)
class IsIn(Value):
    """Whether a value is among those of a SELECT; NULL if it cannot be told."""

    value: Value
    query: TableQuery
    type: Type = BOOL


# -- queries -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CatalogTable:
    """A table of the catalog that bodies read; its rows are given to the compiled aggregate from outside."""

    name: str
    columns: tuple[Field, ...]


@dataclass(frozen=True)
class Source:
    """One input of a SELECT: a local table by its name, a table of the catalog, or another SELECT.

    A `left` source gives one row of NULLs where no row fulfils `on`; for the others `on` is part of WHERE.
    """

    number: int
    name: str
    relation: str | CatalogTable | TableQuery
    width: int
    left: bool = False
    on: Value | None = None


@dataclass(frozen=True)
class Aggregation:
    """One aggregate of a grouped SELECT: a built-in by its name, or a user-defined one by its body.

    `itself` stands for the aggregate that is being defined. `result` is the column of a user-defined one's rows, and
    `options` are the constants that a built-in is made with.
    """

    function: str
    arguments: tuple[Value, ...]
    type: Type
    distinct: bool = False
    condition: Value | None = None
    body: Body | None = None
    itself: bool = False
    result: int = 0
    options: tuple[int | str, ...] = ()

    @property
    def user_defined(self) -> bool:
        """Whether it may give any number of rows."""
        return self.body is not None or self.itself


@dataclass(frozen=True)
class Grouping:
    """GROUP BY: one group per key, or a single one if there are no keys; items and HAVING read its `GroupValue`s."""

    keys: tuple[Value, ...]
    aggregations: tuple[Aggregation, ...]
    having: Value | None = None


@dataclass(frozen=True)
class Order:
    """One term of ORDER BY."""

    value: Value
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class TableQuery:
    """A SELECT over the sources from left to right."""

    sources: tuple[Source, ...]
    items: tuple[Value, ...]
    where: Value | None = None
    grouping: Grouping | None = None
    distinct: bool = False
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0


# -- statements --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InsertRows:
    """INSERT INTO table VALUES rows [WHERE condition]; table None is RETURN. Rows have every column."""

    table: str | None
    rows: tuple[tuple[Value, ...], ...]
    where: Value | None = None


@dataclass(frozen=True)
class InsertQuery:
    """INSERT INTO table SELECT; table None is RETURN."""

    table: str | None
    query: TableQuery


@dataclass(frozen=True)
class Update:
    """UPDATE table SET columns = values [WHERE condition], over the rows as they were before."""

    table: str
    source: Source
    columns: tuple[int, ...]
    values: tuple[Value, ...]
    where: Value | None = None


@dataclass(frozen=True)
class Delete:
    """DELETE FROM table [WHERE condition], over the rows as they were before."""

    table: str
    source: Source
    where: Value | None = None


Action = InsertRows | InsertQuery | Update | Delete


@dataclass(frozen=True)
class LocalTable:
    """A table that each state has of its own, with the rows that it begins with."""

    name: str
    columns: tuple[Field, ...]
    rows: tuple[tuple[Literal, ...], ...] = ()


@dataclass(frozen=True)
class Body:
    """A whole aggregate. `shared` says that INITIALIZE and ITERATE are one text; a missing part is empty."""

    name: str
    parameters: tuple[Field, ...]
    result: tuple[Field, ...]
    tables: tuple[LocalTable, ...]
    initialize: tuple[Action, ...]
    iterate: tuple[Action, ...]
    terminate: tuple[Action, ...] = ()
    expire: tuple[Action, ...] = ()
    window: bool = False
    algebraic: bool = False
    shared: bool = False
    reads: tuple[CatalogTable, ...] = field(default=())

    @property
    def parts(self) -> dict[str, tuple[Action, ...]]:
        """The statements of each part, by its word in small letters."""
        return {
            "initialize": self.initialize,
            "iterate": self.iterate,
            "terminate": self.terminate,
            "expire": self.expire,
        }

    @property
    def blocking(self) -> bool:
        """Whether it answers only when its input has ended."""
        return any(returns(action) for action in self.terminate)

    @property
    def speaks_of_tuples(self) -> bool:
        """Whether what it returns with a tuple names that tuple; what names none is about all it has seen."""
        answers = [action for action in self.iterate if returns(action)]
        return any(isinstance(node, Parameter) for action in answers for node in walk(action))

    def table(self, name: str) -> LocalTable | None:
        """The local table of a name, `inwindow` too."""
        return next((t for t in self.tables if t.name == name), None)


def returns(action: Action) -> bool:
    """Whether a statement is an INSERT INTO RETURN."""
    return isinstance(action, InsertRows | InsertQuery) and action.table is None


def walk(node: Any) -> Iterator[Any]:
    """Every node in a statement, a query or a value, itself first; not what is inside another aggregate."""
    yield node
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif is_dataclass(node) and not isinstance(node, Body | Type):
        for known in fields(node):
            value = getattr(node, known.name)
            if isinstance(value, tuple) or (is_dataclass(value) and not isinstance(value, Body | Type)):
                yield from walk(value)


def tables_read(node: Any) -> set[str]:
    """The local tables that a statement, a query or a value looks at."""
    return {n.relation for n in walk(node) if isinstance(n, Source) and isinstance(n.relation, str)}


def one_row_tables(body: Body) -> tuple[str, ...]:
    """The tables that have exactly one row whenever a statement looks at them: their columns can be variables.

    Such a table begins with one row, or gets it from an INSERT ... VALUES in INITIALIZE before anything looks at it;
    it is never inserted into again, and nothing is ever deleted from it.
    """
    return tuple(t.name for t in body.tables if t.name != INWINDOW and _has_one_row(t, body))


def _has_one_row(table: LocalTable, body: Body) -> bool:
    every = [action for actions in body.parts.values() for action in actions]
    if any(isinstance(a, Delete) and a.table == table.name for a in every):
        return False
    inserts = [a for a in every if isinstance(a, InsertRows | InsertQuery) and a.table == table.name]
    if table.rows:
        return len(table.rows) == 1 and not inserts
    if body.shared or len(inserts) != 1:
        return False
    (insert,) = inserts
    if not isinstance(insert, InsertRows) or len(insert.rows) != 1 or insert.where is not None:
        return False
    for action in body.initialize:
        if action is insert:
            return table.name not in tables_read(action)
        if table.name in tables_read(action):
            return False
    return False
