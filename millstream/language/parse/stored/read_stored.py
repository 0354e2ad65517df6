"""Reads the statements about rows that are kept."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import NotYet
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.history import take_start
from millstream.language.parse.parts import read_create, read_names, read_query
from millstream.language.parse.statements import InsertInto, Name, Statement
from millstream.language.parse.stored.stored_statements import CreateView, Delete, InsertValues, Subscribe, Update

_VIEW = "CREATE VIEW v KEY (k) AS SELECT ..."
_VALUES = "INSERT INTO t VALUES (1, 'a'), (2, 'b')"


def create_view(cursor: Cursor) -> Statement:
    """CREATE VIEW v KEY (k, ...) AS SELECT ..."""
    span = tokens_span(cursor.tokens)
    or_replace, if_not_exists = read_create(cursor, "VIEW")
    name = cursor.name("the view")
    if or_replace:
        raise NotYet(
            "a view cannot be replaced yet: what it holds are answers of its query",
            cursor.text,
            name.span,
            clause="CREATE VIEW",
            hint=f"DROP VIEW {name}, and create it anew",
        )
    if cursor.peek("AS"):
        hint = f"{_VIEW}; a SELECT that only has a name is CREATE STREAM {name} AS SELECT ..."
        cursor.fail("a view keeps the newest answer for each key, and this one has no KEY", hint=hint)
    cursor.expect("KEY", hint=_VIEW)
    begin = cursor.index
    tokens = cursor.bracketed("the columns of the key", hint=_VIEW)
    if not tokens:
        cursor.fail("a key has at least one column", hint=_VIEW, span=tokens_span(cursor.tokens[begin : cursor.index]))
    keys = read_names(cursor, tokens)
    seen: set[str] = set()
    for key in keys:
        if key.text.lower() in seen:
            cursor.fail(f"'{key}' is in the key twice", hint="keep one of them", span=key.span)
        seen.add(key.text.lower())
    cursor.expect("AS", hint=_VIEW)
    start = take_start(cursor)
    return CreateView(
        text=cursor.text,
        span=span,
        name=name,
        keys=keys,
        start=start,
        select=read_query(cursor),
        if_not_exists=if_not_exists,
    )


def insert_into(cursor: Cursor) -> Statement:
    """INSERT INTO x [(columns)] SELECT ... or VALUES ..."""
    span = tokens_span(cursor.tokens)
    cursor.expect("INSERT", "INTO")
    into = cursor.name("what the rows go into")
    columns: tuple[Name, ...] = ()
    if cursor.peek("(") and not _begins_query(cursor.tokens[cursor.index + 1 :]):
        begin = cursor.index
        tokens = cursor.bracketed("the columns")
        if not tokens:
            span, hint = tokens_span(cursor.tokens[begin : cursor.index]), "as in INSERT INTO t (a, b) SELECT ..."
            cursor.fail("columns are missing between the brackets", hint=hint, span=span)
        columns = read_names(cursor, tokens)
    if not cursor.take("VALUES"):
        start = take_start(cursor)
        select = read_query(cursor)
        return InsertInto(text=cursor.text, span=span, sink=into, columns=columns, start=start, select=select)
    rows, spans = [], []
    while True:
        begin = cursor.index
        inside = cursor.bracketed("the values of a row", hint=_VALUES)
        spans.append(tokens_span(cursor.tokens[begin : cursor.index]))
        rows.append(tuple(_expression(cursor, part, spans[-1]) for part in split(inside, TokenType.COMMA)))
        if not cursor.take(","):
            break
        if cursor.at_end:
            cursor.fail("a row is missing after this comma", hint="remove the comma")
    return InsertValues(text=cursor.text, span=span, into=into, columns=columns, rows=tuple(rows), spans=tuple(spans))


def update(cursor: Cursor) -> Statement:
    """UPDATE t SET a = x, ... [WHERE p]."""
    span = tokens_span(cursor.tokens)
    cursor.expect("UPDATE")
    table = cursor.name("the table")
    cursor.expect("SET", hint="UPDATE t SET a = 1 WHERE b = 2")
    assigned, where = _before_where(cursor)
    assignments = []
    for tokens in split(assigned, TokenType.COMMA):
        part = Cursor(tokens, cursor.text)
        part.clause = "SET"
        if not tokens:
            cursor.fail("an assignment is missing", hint="SET a = 1, b = 2", span=tokens_span(cursor.tokens[2:]))
        column = part.name("the column")
        part.expect("=", hint="SET a = 1, b = 2")
        assignments.append((column, _expression(part, part.rest(), column.span)))
    return Update(text=cursor.text, span=span, table=table, assignments=tuple(assignments), where=where)


def delete(cursor: Cursor) -> Statement:
    """DELETE FROM t [WHERE p]."""
    span = tokens_span(cursor.tokens)
    cursor.expect("DELETE")
    cursor.expect("FROM", hint="DELETE FROM t WHERE a = 1")
    table = cursor.name("the table")
    before, where = _before_where(cursor)
    if before:
        cursor.fail(
            f"nothing but WHERE was expected after '{table}'",
            hint="DELETE FROM t WHERE a = 1",
            span=tokens_span(before),
        )
    return Delete(text=cursor.text, span=span, table=table, where=where)


def subscribe(cursor: Cursor) -> Statement:
    """SUBSCRIBE x [AFTER '12.3.5f0a1c2e']."""
    span = tokens_span(cursor.tokens)
    cursor.expect("SUBSCRIBE")
    name = cursor.name("a query or a view")
    after = cursor.string("a position", hint="SUBSCRIBE hot AFTER '12.3.5f0a1c2e'") if cursor.take("AFTER") else None
    return Subscribe(text=cursor.text, span=span, name=name, after=after)


def _before_where(cursor: Cursor) -> tuple[list[Token], exp.Expression | None]:
    """The tokens before a WHERE that stands in no brackets, and the condition after it."""
    tokens = cursor.rest()
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if token.token_type is TokenType.WHERE and not depth:
            condition = tokens[place + 1 :]
            part = Cursor(condition, cursor.text)
            part.clause = "WHERE"
            if not condition:
                cursor.fail("a condition is missing after WHERE", hint="WHERE a = 1")
            return tokens[:place], part.parsed(dialect.parse_expression, condition, "a condition")
    return tokens, None


def _expression(cursor: Cursor, tokens: list[Token], near: tuple[int, int]) -> exp.Expression:
    if not tokens:
        cursor.fail("a value is missing here", hint="NULL stands for no value", span=near)
    return cursor.parsed(dialect.parse_expression, tokens, "a value")


def _begins_query(tokens: list[Token]) -> bool:
    return bool(tokens) and tokens[0].token_type in {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN}


_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
