"""Statements about rows that are kept: views, what is put into tables and streams, and what changes there."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.catalog.schema import Schema
from millstream.language.parse.statements import Name, Span, Start, Statement


@dataclass(frozen=True, kw_only=True)
class CreateView(Statement):
    """CREATE VIEW v KEY (k, ...) AS SELECT ...: the newest answer of a query for each key."""

    name: Name
    keys: tuple[Name, ...]
    select: exp.Query
    start: Start | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateStoredTable(Statement):
    """CREATE TABLE t (columns): a table without a source, whose rows are kept in the home."""

    name: Name
    schema: Schema
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class InsertValues(Statement):
    """INSERT INTO t [(columns)] VALUES (...), ...: rows that are written out."""

    into: Name
    columns: tuple[Name, ...]
    rows: tuple[tuple[exp.Expression, ...], ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, kw_only=True)
class Update(Statement):
    """UPDATE t SET a = x, ... [WHERE p]."""

    table: Name
    assignments: tuple[tuple[Name, exp.Expression], ...]
    where: exp.Expression | None


@dataclass(frozen=True, kw_only=True)
class Delete(Statement):
    """DELETE FROM t [WHERE p]."""

    table: Name
    where: exp.Expression | None


@dataclass(frozen=True, kw_only=True)
class Subscribe(Statement):
    """SUBSCRIBE x [AFTER 'position']: the results of a query, or the changes of a view, as they come."""

    name: Name
    after: Name | None = None
