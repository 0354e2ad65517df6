"""Binds CREATE of streams, tables, views, sinks and aggregates: what is defined, or replaced."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from millstream.catalog.catalog import STDOUT, Catalog
from millstream.catalog.definitions import Definition, DerivedStream, StoredTable, Stream, Table, View
from millstream.catalog.select import Select
from millstream.errors import NameTaken, NotYet, Refused
from millstream.language.bind.definitions import bind_sink, bind_stream, bind_table
from millstream.language.bind.rename_columns import rename_columns
from millstream.language.bind.select import bind_query
from millstream.language.bound import Bound, Define, Replace, Store
from millstream.language.bounded_part import bounded_part
from millstream.language.names import check_free, check_side, kind_of, taken_name
from millstream.language.parse.statements import CreateSink, CreateStream, CreateStreamAs, CreateTable, CreateTableAs
from millstream.language.parse.stored.stored_statements import CreateStoredTable, CreateView
from millstream.language.starts import check_unbounded, start_of
from millstream.language.stored_rows import STORED, bind_view
from millstream.udas.bind.aggregate import bind_aggregate
from millstream.udas.bind.python_class import bind_python_class, load_class
from millstream.udas.statements import CreateAggregate, CreatePythonAggregate

_Create = (
    CreateStream
    | CreateStreamAs
    | CreateTable
    | CreateTableAs
    | CreateStoredTable
    | CreateSink
    | CreateAggregate
    | CreatePythonAggregate
)
"""The statements that give a name to something."""


def bind_create_stream(statement: CreateStream, catalog: Catalog) -> Bound:
    """CREATE STREAM with columns."""
    return _define(bind_stream(statement), statement, catalog)


def bind_create_stream_as(statement: CreateStreamAs, catalog: Catalog) -> Bound:
    """CREATE STREAM AS: a derived stream."""
    select = rename_columns(bind_query(statement.select, catalog, statement.text), statement, "CREATE STREAM")
    if select.bounded:
        raise Refused(
            f"{statement.name} would be made from tables only: there is no stream in it",
            statement.text,
            statement.name.span,
            clause="CREATE STREAM",
            hint=f"use CREATE TABLE {statement.name} AS SELECT ...",
        )
    if statement.keep is not None:
        raise NotYet(
            "the history of a derived stream cannot be kept yet",
            statement.text,
            statement.name.span,
            clause="KEEP",
            hint=_kept_and_fed(statement, select),
        )
    derived = DerivedStream(statement.name.text, select, statement.own_text)
    return _define(derived, statement, catalog)


def _kept_and_fed(statement: CreateStreamAs, select: Select) -> str:
    """How a stream with the same rows is kept: it is declared, and a query feeds it."""
    name, order = statement.name, f" ORDER BY {select.time}" if select.time else ""
    columns = ", ".join(map(str, select.schema))
    made = f"CREATE STREAM {name} ({columns}){order} KEEP {str(statement.keep).upper()}; INSERT INTO {name} SELECT ..."
    return f"keep a stream that a query feeds: {made}"


def bind_create_table(statement: CreateTable, catalog: Catalog) -> Bound:
    """CREATE TABLE with a source."""
    return _define(bind_table(statement), statement, catalog)


def bind_create_table_as(statement: CreateTableAs, catalog: Catalog) -> Bound:
    """CREATE TABLE AS: a stored table, filled once."""
    select = rename_columns(bind_query(statement.select, catalog, statement.text), statement, "CREATE TABLE")
    if not select.bounded:
        raise Refused(
            f"{statement.name} would never be complete: {' and '.join(select.reads)} is a stream",
            statement.text,
            statement.name.span,
            clause="CREATE TABLE",
            hint=bounded_part(statement.name.text, select, catalog),
        )
    made = StoredTable(statement.name.text, select.schema, STORED, text=statement.own_text)
    bound = _define(made, statement, catalog)
    replaced = bound.old if isinstance(bound, Replace) else None
    known = isinstance(bound, Define) and bound.known
    return Store(statement.name.text, select, known, statement.own_text, replaced)


def bind_create_stored_table(statement: CreateStoredTable, catalog: Catalog) -> Bound:
    """CREATE TABLE without a source."""
    table = StoredTable(statement.name.text, statement.schema, STORED, text=statement.own_text)
    return _define(table, statement, catalog)


def bind_create_view(statement: CreateView, catalog: Catalog) -> Bound:
    """CREATE VIEW: the query of the view begins."""
    bound = bind_view(statement, catalog)
    view, text = bound.view, statement.text
    check_unbounded(view.query.select, statement, statement.name, "CREATE VIEW")
    check_side(statement, statement.name)
    start = start_of(statement, view.query.select, catalog)
    bound = replace(bound, view=replace(view, query=replace(view.query, start=start)))
    if statement.if_not_exists and isinstance(catalog.relation(view.name), View):
        return replace(bound, known=True)
    check_free(view, statement.name, catalog, text)
    check_free(view.query, statement.name, catalog, text)
    return bound


def bind_create_sink(statement: CreateSink, catalog: Catalog) -> Bound:
    """CREATE SINK."""
    return _define(bind_sink(statement), statement, catalog)


def bind_create_aggregate(statement: CreateAggregate, catalog: Catalog) -> Bound:
    """CREATE AGGREGATE with a body in SQL."""
    definition, warnings = bind_aggregate(statement, catalog)
    return replace(_define(definition, statement, catalog), warnings=warnings)


def bind_create_python_aggregate(statement: CreatePythonAggregate, catalog: Catalog) -> Bound:
    """CREATE AGGREGATE of a class in Python."""
    definition = bind_python_class(statement)
    return replace(_define(definition, statement, catalog), load=partial(load_class, definition, statement))


def _define(definition: Definition, statement: _Create, catalog: Catalog) -> Define | Replace:
    if isinstance(definition, Stream | DerivedStream | Table):
        check_side(statement, statement.name)
    taken = catalog.find(definition)
    if statement.or_replace and taken == STDOUT:
        raise NameTaken(
            f"sink {STDOUT.name} is always there, as it is",
            statement.text,
            statement.name.span,
            clause="CREATE SINK",
            hint="create a sink of your own: CREATE SINK shown TO 'console:'",
        )
    if statement.or_replace and taken is not None:
        if kind_of(taken) != kind_of(definition):
            raise taken_name(taken, statement.name, statement.text)
        return Replace(taken, definition)
    if not statement.or_replace and not statement.if_not_exists:
        check_free(definition, statement.name, catalog, statement.text)
    return Define(definition, known=taken is not None)
