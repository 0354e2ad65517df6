"""CREATE STREAM, TABLE and SINK: statements checked and turned into definitions of the catalog."""

from __future__ import annotations

from millstream.catalog.address import Address
from millstream.catalog.definitions import INTERNAL_COLUMN, OnBadFile, Options, Sink, Stream, Table, TimeStamp
from millstream.catalog.options import read_options
from millstream.catalog.schema import Schema, type_name
from millstream.catalog.select import Item
from millstream.connectors.contract import Role
from millstream.connectors.registry import connector, connector_for
from millstream.errors import EslSyntaxError, NotYet, SettingError, TypeMismatch, UnknownName, suggest
from millstream.expressions.build.bound import cast_to, tree_of
from millstream.language.bind.expressions import bind_expression, bind_predicate
from millstream.language.bind.history import check_keep
from millstream.language.bind.scope import Scope
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import CreateSink, CreateStream, CreateTable, Place, Statement


def bind_stream(statement: CreateStream) -> Stream:
    """The stream that a CREATE STREAM defines."""
    source = None
    if statement.source is not None:
        source = _address(statement, statement.source, Role.STREAM, statement.options)
        _check_columns(statement, source)
    elif statement.options:
        raise EslSyntaxError(
            "OPTIONS without SOURCE",
            statement.text,
            statement.name.span,
            clause="OPTIONS",
            hint="options belong to a source: SOURCE 'csv:data/*.csv' OPTIONS (...)",
        )
    if statement.on_bad_file is not None:
        _check_files(statement, source, statement.on_bad_file)
    time, time_stamp = _time_stamp(statement)
    check_keep(statement)
    if statement.slack and time is None:
        raise EslSyntaxError(
            "SLACK without a time stamp means nothing",
            statement.text,
            statement.name.span,
            clause="SLACK",
            hint="name the column of the time stamp: ORDER BY start_time SLACK 5 SECONDS",
        )
    if statement.ahead is not None and time_stamp is not TimeStamp.EXTERNAL:
        raise EslSyntaxError(
            "AHEAD bounds the time stamps of the data, and this stream has none: it is stamped on arrival",
            statement.text,
            statement.name.span,
            clause="AHEAD",
            hint="leave AHEAD out, or name the column of the time stamp: ORDER BY start_time AHEAD 1 HOUR",
        )
    punctuated_by = None
    if statement.punctuated_by is not None:
        if time is None:
            raise EslSyntaxError(
                "PUNCTUATED BY without a time stamp promises nothing",
                statement.text,
                statement.clause_spans["punctuated_by"],
                clause="PUNCTUATED BY",
                hint="name the column of the time stamp: ORDER BY start_time PUNCTUATED BY (done)",
            )
        scope = Scope(statement.name.text, statement.schema, bounded=False, time=time)
        punctuated_by = tree_of(bind_predicate(statement.punctuated_by, scope, statement.text, "PUNCTUATED BY"))
    return Stream(
        name=statement.name.text,
        schema=statement.schema,
        source=source,
        time=time,
        time_stamp=time_stamp,
        slack=statement.slack,
        ahead=statement.ahead,
        idle_after=statement.idle_after,
        punctuated_by=punctuated_by,
        on_bad_file=statement.on_bad_file or OnBadFile.STOP,
        options=statement.options,
        computed=_computed(statement),
        text=statement.own_text,
        keep=statement.keep,
    )


def _check_files(statement: CreateStream, source: Address | None, choice: OnBadFile) -> None:
    """ON BAD FILE needs files, and whoever rejects some must be able to read them: Spark cannot pass over one."""
    if source is None or not connector(source).files:
        raise EslSyntaxError(
            "ON BAD FILE is about files, and this stream reads none",
            statement.text,
            (statement.source or statement.name).span,
            clause="ON BAD FILE",
            hint="leave it out: rows that do not parse go to REJECTED, whatever the source",
        )
    for column in statement.schema if choice is OnBadFile.REJECT else ():
        problem = connector(source).reject_problem(column)
        if problem is not None and column.name not in statement.computed:
            span = statement.name.span
            raise NotYet(problem.message, statement.text, span, clause="ON BAD FILE", hint=problem.hint)


def _computed(statement: CreateStream) -> tuple[Item, ...]:
    """The columns that are made from others; each may read those that the source delivers."""
    columns = [c for c in statement.schema if c.name not in statement.computed and c.name.lower() != INTERNAL_COLUMN]
    scope = Scope(statement.name.text, Schema(columns), bounded=False, time=None)
    items = []
    for name, expression in statement.computed.items():
        column = statement.schema.find(name)
        assert column is not None  # noqa: S101
        clause = f"{column.name} AS"
        if not column.nullable:
            hint = "leave NOT NULL out; WHERE can leave rows out"
            message = f"'{column.name}' is computed, and may be NULL where its expression is"
            raise EslSyntaxError(message, statement.text, span_of(expression), clause=clause, hint=hint)
        bound, type_ = bind_expression(expression, scope, statement.text, clause)
        value = tree_of(bound)
        items.append(Item(column.name, value if type_ == column.type else cast_to(value, column.type), column.type))
    return tuple(items)


def bind_table(statement: CreateTable) -> Table:
    """The table that a CREATE TABLE ... SOURCE defines."""
    source = _address(statement, statement.source, Role.TABLE, statement.options)
    _check_columns(statement, source)
    return Table(statement.name.text, statement.schema, source, statement.options, statement.own_text)


def bind_sink(statement: CreateSink) -> Sink:
    """The sink that a CREATE SINK defines."""
    address = _address(statement, statement.to, Role.SINK, statement.options)
    return Sink(statement.name.text, address, statement.options, statement.own_text)


def _time_stamp(statement: CreateStream) -> tuple[str | None, TimeStamp]:
    if statement.order_by is None:
        return None, TimeStamp.LATENT
    wanted = statement.order_by
    column = statement.schema.find(wanted.text)
    if column is None:
        hint = suggest(wanted.text, statement.schema.names)
        if wanted.text.lower() == INTERNAL_COLUMN:
            hint = f"declare it: {INTERNAL_COLUMN} TIMESTAMP; it is filled on arrival"
        raise UnknownName(
            f"no column '{wanted}' in {statement.name}", statement.text, wanted.span, clause="ORDER BY", hint=hint
        )
    if not column.type.is_type("timestamp", "timestamptz", "timestampltz"):
        raise TypeMismatch(
            f"the time stamp '{column.name}' is {type_name(column.type)}, not TIMESTAMP",
            statement.text,
            wanted.span,
            clause="ORDER BY",
            hint=f"declare {column.name} TIMESTAMP",
        )
    internal = column.name.lower() == INTERNAL_COLUMN
    return column.name, TimeStamp.INTERNAL if internal else TimeStamp.EXTERNAL


def _address(statement: Statement, place: Place, role: Role, given: Options) -> Address:
    try:
        address = Address.parse(place.text)
        spec = connector_for(address, role)
    except SettingError as problem:
        raise _pointed(problem, statement, place, "TO" if role is Role.SINK else "SOURCE") from None
    try:
        read_options(given, spec.options(role), address.kind)
    except SettingError as problem:
        raise _pointed(problem, statement, place, "OPTIONS") from None
    return address


def _pointed(problem: SettingError, statement: Statement, place: Place, clause: str) -> EslSyntaxError:
    message, _, hint = (problem.message, "", problem.hint) if problem.hint else str(problem).partition(": ")
    return EslSyntaxError(message, statement.text, place.span, clause=clause, hint=hint)


def _check_columns(statement: CreateStream | CreateTable, source: Address) -> None:
    """Whether a source of that kind can fill the columns."""
    for column in statement.schema:
        if problem := connector(source).column_problem(column, statement.options):
            raise TypeMismatch(problem.message, statement.text, statement.name.span, clause="SOURCE", hint=problem.hint)
