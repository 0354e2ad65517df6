"""Binds the statements that manage what is defined: DROP, STOP, START, ALTER and SHOW VERSIONS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from sqlglot.tokenizer_core import Token

from millstream.catalog.catalog import STDOUT, Catalog
from millstream.catalog.definitions import Definition, DerivedStream, Query, Stream, Table
from millstream.errors import EslSyntaxError, NameTaken, NotYet, Refused, UnknownName, suggest
from millstream.language.bind.definitions import bind_stream
from millstream.language.bind.history import check_start
from millstream.language.bind.select import bind_query
from millstream.language.bound import Bound, Halt, History, NewName, Removal, Replace, Resumption
from millstream.language.names import check_free, check_replaceable, check_side, find, find_broken, get, kind_of, plural
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor
from millstream.language.parse.history import start_clause, take_start
from millstream.language.parse.parts import read_query
from millstream.language.parse.rewrite import with_clauses, with_window
from millstream.language.parse.statements import (
    AlterQuery,
    AlterQueryWindow,
    AlterStream,
    CreateStream,
    Drop,
    InsertInto,
    Name,
    Rename,
    ShowVersions,
    StartQuery,
    StopQuery,
)
from millstream.language.parser import parse
from millstream.language.stored_rows import bind_feed


def bind_stop(statement: StopQuery, catalog: Catalog) -> Bound:
    """STOP QUERY q."""
    return Halt(_query(statement.name, catalog, statement.text, "STOP QUERY"))


def bind_start(statement: StartQuery, catalog: Catalog) -> Bound:
    """START QUERY q."""
    return Resumption(_query(statement.name, catalog, statement.text, "START QUERY"))


def bind_versions(statement: ShowVersions, catalog: Catalog) -> Bound:
    """SHOW VERSIONS OF QUERY q."""
    return History(get(statement.kind, statement.name, catalog, statement.text, "SHOW VERSIONS"))


def bind_alter_query(statement: AlterQuery, catalog: Catalog) -> Bound:
    """ALTER QUERY q AS SELECT ...: what the query is made of stays, but for its SELECT."""
    clause = "ALTER QUERY"
    old = _query(statement.name, catalog, statement.text, clause)
    head = _head(old, statement.name, statement.text)
    text = f"{head} {statement.text[slice(*statement.body)]}{start_clause(old.text) if old.start is not None else ''}"
    select = bind_query(statement.select, catalog, statement.text)
    if select.bounded:
        raise Refused(
            f"{old.name} would read {' and '.join(select.reads) or 'nothing'}, which is no stream: it has nothing to "
            "wait for",
            statement.text,
            statement.name.span,
            clause=clause,
            hint="a persistent query reads a stream; for the rows of a table use SELECT or CREATE TABLE ... AS",
        )
    _check_begin(old, statement)
    if old.into is not None:
        new = _feeder(old, text, catalog)
    else:
        new = Query(old.name, select, old.sink, text, start=old.start)
    check_start(old.start, select, catalog, statement.text, statement.name.span)
    return Replace(old, new, starting_now=statement.starting_now)


def bind_alter_window(statement: AlterQueryWindow, catalog: Catalog) -> Bound:
    """ALTER QUERY q WINDOW [...]: the same SELECT with another window."""
    clause = "ALTER QUERY"
    old = _query(statement.name, catalog, statement.text, clause)
    head = _head(old, statement.name, statement.text)
    text, windows = with_window(old.text, statement.window)
    if windows != 1:
        raise Refused(
            f"query {old.name} has {f'{windows} different windows' if windows else 'no window in brackets'}",
            statement.text,
            statement.name.span,
            clause=clause,
            hint=f"write all of it: ALTER QUERY {old.name} AS SELECT ...",
        )
    cursor = Cursor(dialect.tokenize(text), text)
    cursor.index = len(dialect.tokenize(head))
    cursor.clause = clause
    take_start(cursor)
    select = bind_query(read_query(cursor), catalog, text)
    _check_begin(old, statement)
    if old.into is not None:
        new = _feeder(old, text, catalog)
    else:
        new = Query(old.name, select, old.sink, text, start=old.start)
    return Replace(old, new, keeps_base=True, starting_now=statement.starting_now)


def _feeder(old: Query, text: str, catalog: Catalog) -> Query:
    """A query that feeds a stream with another SELECT: its columns become those of the stream."""
    (statement,) = parse(text)
    assert isinstance(statement, InsertInto)  # noqa: S101  (its head has stayed)
    found = bind_feed(statement, catalog)
    assert isinstance(found, Query)  # noqa: S101  (the SELECT reads a stream, and so does the query that there was)
    return replace(found, name=old.name, text=text)


def _check_begin(old: Query, statement: AlterQuery | AlterQueryWindow) -> None:
    if old.into is not None and statement.starting_now:
        raise NotYet(
            f"query {old.name} feeds stream {old.into}, and cannot begin anew in its place yet",
            statement.text,
            statement.name.span,
            clause="ALTER QUERY",
            hint=f"DROP QUERY {old.name}, and write the statement anew: it begins with what its sources hold",
        )


def bind_alter_stream(statement: AlterStream, catalog: Catalog) -> Bound:
    """ALTER STREAM s SET (...): the clauses on which no state depends."""
    clause = "ALTER STREAM"
    old = get("STREAM", statement.name, catalog, statement.text, clause)
    if isinstance(old, DerivedStream):
        raise Refused(
            f"{old.name} is derived from {' and '.join(old.select.reads)}, and has no such clauses of its own",
            statement.text,
            statement.name.span,
            clause=clause,
            hint=f"alter {old.select.reads[0]}, or CREATE OR REPLACE STREAM {old.name} AS SELECT ...",
        )
    assert isinstance(old, Stream)  # noqa: S101  (no table is found as a stream)
    spans = _created(old).clause_spans
    text = with_clauses(old.text, spans, statement.clauses)
    new = bind_stream(_created(Stream(old.name, old.schema, old.source, text=text)))
    if (old.keep is None) is not (new.keep is None):
        raise NotYet(
            f"whether history is kept of {old.name} cannot be altered yet, only how much",
            statement.text,
            statement.name.span,
            clause=clause,
            hint=f"DROP STREAM {old.name}, and create it anew {'with' if old.keep is None else 'without'} KEEP",
        )
    return Replace(old, new, keeps_base=True)


def bind_rename(statement: Rename, catalog: Catalog) -> Bound:
    """ALTER ... x RENAME TO y."""
    clause = f"ALTER {statement.kind}"
    found = get(statement.kind, statement.name, catalog, statement.text, clause)
    if isinstance(found, Query) and found.keys:
        raise NotYet(
            f"{found.name} is the query of a view, and cannot be renamed yet",
            statement.text,
            statement.name.span,
            clause=clause,
            hint=f"DROP VIEW {found.name}, and create it anew",
        )
    if found.name == STDOUT.name and found == STDOUT:
        raise NameTaken(
            f"sink {STDOUT.name} is always there, under this name",
            statement.text,
            statement.name.span,
            clause=clause,
            hint="create a sink of your own: CREATE SINK shown TO 'console:'",
        )
    if isinstance(found, Stream | DerivedStream | Table):
        check_side(statement, statement.to, clause)
    if statement.to.text.lower() != found.name.lower():
        check_free(with_name(found, statement.to.text), statement.to, catalog, statement.text, clause)
    return NewName(found, statement.to.text)


def bind_drop(statement: Drop, catalog: Catalog) -> Bound:
    """DROP ... x."""
    name, kind, clause = statement.name.text, statement.kind, f"DROP {statement.kind}"
    found = find(kind, name, catalog)
    broken = find_broken(kind, name, catalog) if found is None else None
    if found is None and broken is None and not statement.if_exists:
        others = [d for d in catalog if d.name.lower() == name.lower()]
        raise UnknownName(
            f"no {kind.lower()} '{name}'",
            statement.text,
            statement.name.span,
            clause=clause,
            hint=f"it is a {kind_of(others[0])}: DROP {kind_of(others[0]).upper()} {others[0].name}"
            if others
            else suggest(name, [d.name for d in catalog if kind_of(d) == kind.lower()])
            or f"SHOW {plural(kind)} lists those that there are",
        )
    if isinstance(found, Query) and found.keys:
        raise Refused(
            f"{found.name} is the query of a view",
            statement.text,
            statement.name.span,
            clause=clause,
            hint=f"DROP VIEW {found.name} drops both",
        )
    if found is not None and found == STDOUT:
        raise NameTaken(
            f"sink {STDOUT.name} is always there",
            statement.text,
            statement.name.span,
            clause=clause,
            hint="leave it alone: it costs nothing",
        )
    if found is not None and (users := catalog.users(found)):
        raise NameTaken(
            f"{found.name} is still used by {', '.join(users)}",
            statement.text,
            statement.name.span,
            clause=clause,
            hint=f"drop {users[0]} first",
        )
    return Removal(kind, name, found, broken)


def with_name(definition: Definition, name: str) -> Definition:
    """The definition under another name; its text is that of the old one."""
    return replace(definition, name=name)


def _query(name: Name, catalog: Catalog, text: str, clause: str) -> Query:
    return cast("Query", get("QUERY", name, catalog, text, clause))


def _begins(tokens: Sequence[Token]) -> bool:
    """Whether a SELECT begins here; columns in brackets do not."""
    depth = next(i for i, token in enumerate(tokens) if token.text != "(")
    return tokens[depth].text.upper() in {"SELECT", "WITH"}


def _head(query: Query, name: Name, text: str) -> str:
    """The words of a query's statement before its SELECT."""
    if query.keys:
        check_replaceable(query, name, text, "ALTER QUERY")
    if query.parameters is not None:
        raise Refused(
            f"query {query.name} has parameters, which stand before its SELECT",
            text,
            name.span,
            clause="ALTER QUERY",
            hint=f"write all of it: CREATE OR REPLACE QUERY {query.name} ({query.parameters}) AS SELECT ...",
        )
    if query.outputs:
        raise Refused(
            f"query {query.name} feeds several sinks from one FROM",
            text,
            name.span,
            clause="ALTER QUERY",
            hint=f"DROP QUERY {query.name}, and write the statement again",
        )
    tokens = dialect.tokenize(query.text)
    begin = next(i for i in range(len(tokens)) if _begins(tokens[i:]))
    return query.text[: tokens[begin - 1].end + 1]


def _created(stream: Stream) -> CreateStream:
    """The statement that makes a stream, as the parser gives it."""
    (found,) = parse(stream.text)
    if not isinstance(found, CreateStream):
        raise EslSyntaxError("the text of the stream is damaged", stream.text, (0, 1), clause="ALTER STREAM")
    return found
