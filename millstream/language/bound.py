"""Bound statements: what each asks the system to do, with nothing left to look up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.catalog.definitions import Definition, PythonAggregate, Query, Select, UserAggregate
from millstream.catalog.schema import Schema


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
    """Compute a bounded SELECT and keep its rows as a table; `known` if IF NOT EXISTS found it there."""

    name: str
    select: Select
    known: bool = False


@dataclass(frozen=True)
class Start:
    """Run a persistent query."""

    query: Query


@dataclass(frozen=True)
class Rows:
    """Give the rows of a SELECT to whoever asked."""

    select: Select
    text: str


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
class Removal:
    """Take a definition out of the catalog; None if IF EXISTS found nothing."""

    kind: str
    name: str
    definition: Definition | None


@dataclass(frozen=True)
class Assignment:
    """Change a setting."""

    name: str
    value: str


Shown = Plan | Measure | Account | Reasons | GeneratedCode | Listing | Description
Bound = Define | Store | Start | Rows | Shown | Removal | Assignment
