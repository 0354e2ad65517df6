"""CREATE STREAM, TABLE, SINK and QUERY as they are written."""

from __future__ import annotations

from millstream.catalog.ahead import Ahead
from millstream.catalog.definitions import OnBadFile
from millstream.errors import suggest
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, tokens_span
from millstream.language.parse.history import read_keep, take_start
from millstream.language.parse.parts import (
    read_columns,
    read_create,
    read_names,
    read_options,
    read_place,
    read_query,
    read_schema,
)
from millstream.language.parse.standing.registrations import read_parameters
from millstream.language.parse.statements import (
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    Span,
    Statement,
)
from millstream.language.parse.stored.stored_statements import CreateStoredTable


def create_stream(cursor: Cursor) -> Statement:
    """A stream with a source or without one, or one that a SELECT gives."""
    span = tokens_span(cursor.tokens)
    or_replace, if_not_exists = read_create(cursor, "STREAM")
    name = cursor.name("the stream")
    columns = cursor.bracketed("the columns") if cursor.peek("(") else []
    keep, begun = None, cursor.index
    if cursor.take("KEEP"):
        keep = read_keep(cursor)
    if keep is not None and not cursor.peek("AS"):
        keep, cursor.index = None, begun
    if cursor.take("AS"):
        return CreateStreamAs(
            text=cursor.text,
            span=span,
            name=name,
            renamed=read_names(cursor, columns),
            select=read_query(cursor),
            keep=keep,
            if_not_exists=if_not_exists,
            or_replace=or_replace,
        )
    if not columns:
        cursor.fail("expected the columns of the stream, or AS SELECT", hint="CREATE STREAM s (a INT, b STRING) ...")
    schema, computed = read_columns(cursor, columns)
    clauses: dict[str, object] = {}
    spans: dict[str, Span] = {}
    while not cursor.at_end:
        begin = cursor.index
        clause, value = read_stream_clause(cursor)
        if clause in clauses:
            word = clause.upper().replace("_", " ")
            again = tokens_span(cursor.tokens[begin : cursor.index])
            cursor.fail(f"{word} is given twice", hint="keep one of them", span=again)
        clauses[clause] = value
        spans[clause] = tokens_span(cursor.tokens[begin : cursor.index])
    return CreateStream(
        text=cursor.text,
        span=span,
        name=name,
        schema=schema,
        computed=computed,
        if_not_exists=if_not_exists,
        or_replace=or_replace,
        clause_spans=spans,
        **clauses,  # type: ignore[arg-type]
    )


def read_stream_clause(cursor: Cursor) -> tuple[str, object]:
    """One clause of CREATE STREAM: the name of its field, and its value."""
    if cursor.take("ORDER BY"):
        return "order_by", cursor.name("the time-stamp column")
    if cursor.take("SLACK"):
        return "slack", cursor.interval()
    if cursor.take("AHEAD"):
        return "ahead", _ahead(cursor)
    if cursor.take("IDLE", "AFTER"):
        return "idle_after", cursor.interval()
    if cursor.take("KEEP"):
        return "keep", read_keep(cursor)
    if cursor.take("PUNCTUATED", "BY"):
        tokens = cursor.bracketed("a predicate", hint="PUNCTUATED BY (x IS NULL)")
        return "punctuated_by", cursor.parsed(dialect.parse_expression, tokens, "a predicate")
    if cursor.take("ON", "BAD", "FILE"):
        return "on_bad_file", _on_bad_file(cursor)
    if cursor.take("SOURCE"):
        return "source", read_place(cursor, "SOURCE 'csv:data/*.csv'")
    if cursor.take("OPTIONS"):
        return "options", read_options(cursor)
    known = ("ORDER BY", "SLACK", "AHEAD", "IDLE AFTER", "KEEP", "PUNCTUATED BY", "SOURCE", "ON BAD FILE", "OPTIONS")
    token = cursor.current
    cursor.fail("unknown clause", hint=suggest(token.text if token else "", known))


def _ahead(cursor: Cursor) -> Ahead:
    if cursor.take("UNBOUNDED"):
        return Ahead(None)
    length = cursor.interval()
    waits = cursor.take("WAIT")
    if not waits:
        cursor.take("REJECT")
    return Ahead(length, waits)


def _on_bad_file(cursor: Cursor) -> OnBadFile:
    for choice in OnBadFile:
        if cursor.take(choice.name):
            return choice
    cursor.fail("expected REJECT or STOP", hint="ON BAD FILE REJECT, where files go to REJECTED, or ON BAD FILE STOP")


def create_table(cursor: Cursor) -> Statement:
    """A table with a source, a stored one, or one that a SELECT fills."""
    span = tokens_span(cursor.tokens)
    or_replace, if_not_exists = read_create(cursor, "TABLE")
    name = cursor.name("the table")
    columns = cursor.bracketed("the columns") if cursor.peek("(") else []
    if cursor.take("AS"):
        return CreateTableAs(
            text=cursor.text,
            span=span,
            name=name,
            renamed=read_names(cursor, columns),
            select=read_query(cursor),
            if_not_exists=if_not_exists,
            or_replace=or_replace,
        )
    if not columns:
        cursor.fail("expected the columns of the table, or AS SELECT", hint="CREATE TABLE t (a INT, b STRING) ...")
    schema = read_schema(cursor, columns)
    if cursor.at_end:
        return CreateStoredTable(
            text=cursor.text, span=span, name=name, schema=schema, if_not_exists=if_not_exists, or_replace=or_replace
        )
    cursor.expect("SOURCE", hint="SOURCE 'parquet:data/items' reads files; a table without SOURCE is filled by INSERT")
    source = read_place(cursor, "SOURCE 'parquet:data/items'")
    options = read_options(cursor) if cursor.take("OPTIONS") else {}
    return CreateTable(
        text=cursor.text,
        span=span,
        name=name,
        schema=schema,
        source=source,
        options=options,
        if_not_exists=if_not_exists,
        or_replace=or_replace,
    )


def create_sink(cursor: Cursor) -> Statement:
    """A sink."""
    span = tokens_span(cursor.tokens)
    or_replace, if_not_exists = read_create(cursor, "SINK")
    name = cursor.name("the sink")
    cursor.expect("TO", hint="CREATE SINK alerts TO 'json:out/alerts'")
    place = read_place(cursor, "TO 'json:out/alerts'")
    options = read_options(cursor) if cursor.take("OPTIONS") else {}
    return CreateSink(
        text=cursor.text,
        span=span,
        name=name,
        to=place,
        options=options,
        if_not_exists=if_not_exists,
        or_replace=or_replace,
    )


def create_query(cursor: Cursor) -> Statement:
    """A query, or a template if it has parameters."""
    span = tokens_span(cursor.tokens)
    cursor.expect("CREATE")
    or_replace = cursor.take("OR", "REPLACE")
    cursor.expect("QUERY")
    if cursor.peek("IF", "NOT", "EXISTS"):
        hint = "leave it out: the same statement is accepted once more; another one says CREATE OR REPLACE QUERY"
        cursor.fail("a query has no IF NOT EXISTS", hint=hint, span=tokens_span(cursor.tokens[2:5]))
    name = cursor.name("the query")
    parameters, places = read_parameters(cursor) if cursor.peek("(") else (None, {})
    cursor.expect("AS", hint="CREATE QUERY hot AS SELECT ...")
    start, select = take_start(cursor), read_query(cursor)
    return CreateQuery(
        text=cursor.text,
        span=span,
        name=name,
        start=start,
        select=select,
        or_replace=or_replace,
        parameters=parameters,
        places=places,
    )
