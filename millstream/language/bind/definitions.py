"""CREATE STREAM, TABLE and SINK: statements checked and turned into definitions of the catalog."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millstream.catalog.address import FILE_KINDS, SINK_KINDS, SOURCE_KINDS, Address
from millstream.catalog.arrow import to_arrow
from millstream.catalog.definitions import INTERNAL_COLUMN, Item, OnBadFile, Options, Sink, Stream, Table, TimeStamp
from millstream.catalog.options import SINK_OPTIONS, SOURCE_OPTIONS, Option, read_options
from millstream.catalog.schema import Schema, type_name
from millstream.errors import EslSyntaxError, NotYet, SettingError, TypeMismatch, UnknownName, suggest
from millstream.language.bind.expressions import bind_expression, bind_predicate
from millstream.language.bind.scope import Scope
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import CreateSink, CreateStream, CreateTable, Place, Statement

TABLE_KINDS = ("csv", "json", "parquet")


def bind_stream(statement: CreateStream) -> Stream:
    """The stream that a CREATE STREAM defines."""
    source = None
    if statement.source is not None:
        source = _address(statement, statement.source, SOURCE_KINDS, "source", SOURCE_OPTIONS, statement.options)
        _check_flat(statement, source, statement.options)
        if source.kind == "rate":
            _check_rate(statement, source)
        if source.kind == "tcp":
            _check_port(statement, source)
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
    punctuated_by = statement.punctuated_by
    if punctuated_by is not None:
        scope = Scope(statement.name.text, statement.schema, bounded=False, time=time)
        punctuated_by = bind_predicate(punctuated_by, scope, statement.text, "PUNCTUATED BY")
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
    )


def _check_files(statement: CreateStream, source: Address | None, choice: OnBadFile) -> None:
    """ON BAD FILE needs files, and whoever rejects some must be able to read them: Spark cannot pass over one."""
    if source is None or source.kind not in FILE_KINDS:
        raise EslSyntaxError(
            "ON BAD FILE is about files, and this stream reads none",
            statement.text,
            (statement.source or statement.name).span,
            clause="ON BAD FILE",
            hint="leave it out: rows that do not parse go to REJECTED, whatever the source",
        )
    if choice is not OnBadFile.REJECT or source.kind != "parquet":
        return
    for column in statement.schema:
        if column.name not in statement.computed and to_arrow(column.type) is None:
            raise NotYet(
                f"'{column.name}' is {type_name(column.type)}: only Spark reads that, and it cannot pass over files",
                statement.text,
                statement.name.span,
                clause="ON BAD FILE",
                hint="leave the column out, or say ON BAD FILE STOP",
            )


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
        if type_ != column.type:
            bound = exp.Cast(this=bound, to=column.type.copy())
        items.append(Item(column.name, bound, column.type))
    return tuple(items)


def bind_table(statement: CreateTable) -> Table:
    """The table that a CREATE TABLE ... SOURCE defines."""
    source = _address(statement, statement.source, TABLE_KINDS, "table", SOURCE_OPTIONS, statement.options)
    _check_flat(statement, source, statement.options)
    return Table(statement.name.text, statement.schema, source, statement.options)


def bind_sink(statement: CreateSink) -> Sink:
    """The sink that a CREATE SINK defines."""
    address = _address(statement, statement.to, SINK_KINDS, "sink", SINK_OPTIONS, statement.options)
    return Sink(statement.name.text, address, statement.options)


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
            f"no column '{wanted}' in {statement.name}",
            statement.text,
            wanted.span,
            clause="ORDER BY",
            hint=hint,
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


def _address(
    statement: Statement,
    place: Place,
    kinds: tuple[str, ...],
    role: str,
    known: Mapping[str, Mapping[str, Option]],
    options: Options,
) -> Address:
    clause = {"sink": "TO", "source": "SOURCE", "table": "SOURCE"}[role]
    try:
        address = Address.parse(place.text).checked(kinds, role)
    except SettingError as problem:
        raise _pointed(problem, statement, place, clause) from None
    try:
        read_options(options, known[address.kind], address.kind)
    except SettingError as problem:
        raise _pointed(problem, statement, place, "OPTIONS") from None
    return address


def _pointed(problem: SettingError, statement: Statement, place: Place, clause: str) -> EslSyntaxError:
    message, _, hint = str(problem).partition(": ")
    return EslSyntaxError(message, statement.text, place.span, clause=clause, hint=hint)


def _check_flat(statement: CreateStream | CreateTable, source: Address, options: Options) -> None:
    """A field of CSV is one value."""
    if source.kind != "csv" and options.get("format", "").lower() != "csv":
        return
    for column in statement.schema:
        if column.type.is_type("array", "map", "struct", "binary"):
            raise TypeMismatch(
                f"CSV cannot hold '{column.name}' {type_name(column.type)}",
                statement.text,
                statement.name.span,
                clause="SOURCE",
                hint="use JSON or Parquet, or read the column as STRING and take it apart with from_json",
            )


def _check_rate(statement: CreateStream, source: Address) -> None:
    if not source.rest.isdigit() or int(source.rest) < 1:
        raise EslSyntaxError(
            f"'{source.rest}' is not a number of rows per second",
            statement.text,
            statement.source.span if statement.source else None,
            clause="SOURCE",
            hint="write 'rate:1000'",
        )
    for column in statement.schema:
        if not column.type.is_type("timestamp", "timestamptz", "timestampltz", "bigint", "int"):
            raise TypeMismatch(
                f"'rate:' cannot fill '{column.name}' {type_name(column.type)}",
                statement.text,
                statement.name.span,
                clause="SOURCE",
                hint="its rows have a time (TIMESTAMP columns) and a counter (INT and BIGINT columns)",
            )


def _check_port(statement: CreateStream, source: Address) -> None:
    if not source.rest.isdigit() or not 0 <= int(source.rest) <= 65535:
        raise EslSyntaxError(
            f"'{source.rest}' is not a port",
            statement.text,
            statement.source.span if statement.source else None,
            clause="SOURCE",
            hint="write 'tcp:4446'; to listen beyond this machine add OPTIONS (host = '0.0.0.0')",
        )
