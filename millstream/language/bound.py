"""Bound statements: what each asks the system to do, with nothing left to look up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from millstream.catalog.catalog import Key
from millstream.catalog.definitions import Definition, PythonAggregate, Query, StoredTable, Stream, UserAggregate, View
from millstream.catalog.moment import Moment
from millstream.catalog.schema import Schema
from millstream.catalog.select import Item, Select


@dataclass(frozen=True)
class Define:
    """Put a stream, a table, a sink or an aggregate into the catalog; `known` if IF NOT EXISTS found it there.

    `warnings` are texts for the author of an aggregate. `load` imports a class and gives more of them: it runs code of
    its author, so it is for those who carry the statement out.
    """

    definition: Definition
    known: bool = False
    warnings: tuple[str, ...] = ()
    load: Callable[[], tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Store:
    """Compute a bounded SELECT and keep its rows as a table; `known` if IF NOT EXISTS found it there.

    `replaced` is what had the name, if OR REPLACE is said.
    """

    name: str
    select: Select
    known: bool = False
    text: str = ""
    replaced: Definition | None = None


@dataclass(frozen=True)
class Start:
    """Run a persistent query; `known` if it runs already, and the statement only says again what it is."""

    query: Query
    known: bool = False


@dataclass(frozen=True)
class Replace:
    """Put a definition in the place of another one, which queries that use it live to see.

    `keeps_base`: relative addresses start from where they did, for they are those of the old one. A query of which
    `starting_now` is said begins anew, with new state. `load` is that of Define.
    """

    old: Definition
    new: Definition
    keeps_base: bool = False
    starting_now: bool = False
    warnings: tuple[str, ...] = ()
    load: Callable[[], tuple[str, ...]] | None = None


@dataclass(frozen=True)
class NewName:
    """Give a definition another name, also in the texts of those that use it."""

    definition: Definition
    name: str


@dataclass(frozen=True)
class Halt:
    """Stop a query, and keep what it has."""

    query: Query


@dataclass(frozen=True)
class Resumption:
    """Let a query go on that was stopped."""

    query: Query


@dataclass(frozen=True)
class History:
    """Show the versions of a definition."""

    definition: Definition


@dataclass(frozen=True)
class Rows:
    """Give the rows of a SELECT to whoever asked; one that goes on begins at the `start`, if it names one."""

    select: Select
    text: str
    start: Moment | None = None


@dataclass(frozen=True)
class Plan:
    """Show how a SELECT or a query would run."""

    asked: Select | Query


@dataclass(frozen=True)
class Measure:
    """Run a SELECT or a query over what is there, and tell what its steps did."""

    asked: Select | Query


@dataclass(frozen=True)
class Account:
    """Tell what the steps of a running query have done so far."""

    query: Query


@dataclass(frozen=True)
class Reasons:
    """Tell why a running query does not answer."""

    query: Query


@dataclass(frozen=True)
class GeneratedCode:
    """Show the Python that an aggregate becomes, in all its versions."""

    definitions: tuple[UserAggregate | PythonAggregate, ...]


@dataclass(frozen=True)
class Listing:
    """Show what there is of a kind."""

    what: str


@dataclass(frozen=True)
class Description:
    """Show what a name means."""

    title: str
    definition: Definition
    schema: Schema


@dataclass(frozen=True)
class Registering:
    """Register rows of arguments with a template, under handles where they are given.

    The rows are there, or a SELECT gives them. The template goes by its name: what is looked at once more before it is
    carried out, is what was written now.
    """

    template: str
    rows: pa.Table | Select
    handles: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class Unregistering:
    """Take registrations away, by their handles."""

    handles: tuple[str, ...]


@dataclass(frozen=True)
class Invocation:
    """Give the answers of a registration that are kept: all, those since a time, or those not given yet."""

    handle: str
    since: datetime | None = None
    last: bool = False


@dataclass(frozen=True)
class RegistrationListing:
    """Show registrations, all or those of a template."""

    template: str | None


@dataclass(frozen=True)
class Removal:
    """Take a definition out of the catalog; None if IF EXISTS found nothing.

    `broken` is the key of one that does not bind any more.
    """

    kind: str
    name: str
    definition: Definition | None
    broken: Key | None = None


@dataclass(frozen=True)
class Assignment:
    """Change a setting."""

    name: str
    value: str


@dataclass(frozen=True)
class OpenView:
    """Run the query of a view, and keep its newest row for each key; `known` if IF NOT EXISTS found it there."""

    view: View
    known: bool = False


@dataclass(frozen=True)
class Insertion:
    """Put rows into a stored table, or a stream: those of a bounded SELECT, or those that are written out."""

    table: StoredTable | Stream
    select: Select | None
    rows: tuple[tuple[Item, ...], ...] = ()


@dataclass(frozen=True)
class Change:
    """Put the rows of a SELECT in the place of those of a stored table; the column `marked` says what has changed.

    Rows that are `deleted` go, those that are `updated` stay.
    """

    table: StoredTable
    select: Select
    marked: str
    what: str


@dataclass(frozen=True)
class Follow:
    """Show the results of a query, or the changes of a view, as they come, from behind a position or from the start."""

    query: Query
    after: str | None = None


Shown = Plan | Measure | Account | Reasons | GeneratedCode | Listing | Description | History
Changed = Define | Store | Start | Replace | NewName | Halt | Resumption | Removal | OpenView
Kept = Insertion | Change | Follow
Standing = Registering | Unregistering | Invocation | RegistrationListing
Bound = Changed | Rows | Shown | Assignment | Kept | Standing

ON_SPARK = (Rows, Start, Store, Measure, OpenView, Insertion, Change)
"""What Spark may be needed for."""
