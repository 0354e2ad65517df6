"""CREATE AGGREGATE as the parser gives it: names not yet looked up, expressions not yet typed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.catalog.schema import Schema
from millstream.language.parse.statements import Name, Span, Statement


@dataclass(frozen=True)
class DeclaredTable:
    """TABLE t (columns) [AS VALUES rows]."""

    name: Name
    schema: Schema
    rows: tuple[tuple[exp.Expression, ...], ...] = ()


@dataclass(frozen=True)
class BodyInsert:
    """INSERT INTO t [(columns)] VALUES rows [WHERE condition], or INSERT INTO t SELECT."""

    table: Name
    columns: tuple[Name, ...]
    rows: tuple[tuple[exp.Expression, ...], ...]
    select: exp.Query | None
    where: exp.Expression | None
    span: Span


@dataclass(frozen=True)
class BodyUpdate:
    """UPDATE t SET c = e, ... [WHERE condition]."""

    table: Name
    columns: tuple[Name, ...]
    values: tuple[exp.Expression, ...]
    where: exp.Expression | None
    span: Span


@dataclass(frozen=True)
class BodyDelete:
    """DELETE FROM t [WHERE condition]."""

    table: Name
    where: exp.Expression | None
    span: Span


BodyStatement = BodyInsert | BodyUpdate | BodyDelete


@dataclass(frozen=True)
class Part:
    """INITIALIZE: ITERATE: { statements }; the words in capitals."""

    words: tuple[Name, ...]
    statements: tuple[BodyStatement, ...]


@dataclass(frozen=True, kw_only=True)
class CreateAggregate(Statement):
    """CREATE [ALGEBRAIC] [WINDOW] AGGREGATE f (parameters) : result { tables and parts }."""

    name: Name
    parameters: Schema
    parameter_spans: tuple[Span, ...]
    result: Schema
    result_span: Span
    tables: tuple[DeclaredTable, ...] = ()
    parts: tuple[Part, ...] = ()
    window: bool = False
    algebraic: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreatePythonAggregate(Statement):
    """CREATE [ALGEBRAIC] [WINDOW] AGGREGATE f (parameters) : result LANGUAGE PYTHON 'module:Class'."""

    name: Name
    parameters: Schema
    result: Schema
    place: Name
    window: bool = False
    algebraic: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class ExplainAggregate(Statement):
    """EXPLAIN AGGREGATE f."""

    name: Name
