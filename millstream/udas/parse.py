"""CREATE AGGREGATE: its head, its local tables, and the statements of its parts."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.catalog.schema import Column, Schema
from millstream.errors import EslSyntaxError, suggest
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.parts import read_names, read_query, read_schema
from millstream.language.parse.statements import Name, Span, Statement
from millstream.udas.statements import (
    BodyDelete,
    BodyInsert,
    BodyStatement,
    BodyUpdate,
    CreateAggregate,
    CreatePythonAggregate,
    DeclaredTable,
    ExplainAggregate,
    Part,
)

PARTS = ("INITIALIZE", "ITERATE", "TERMINATE", "EXPIRE")
_EXAMPLE = "as in CREATE AGGREGATE total (x INT) : BIGINT { TABLE state (s BIGINT); INITIALIZE: {...} ITERATE: {...} }"
# The signs that the papers print.
_PRINTED = {"≤": (TokenType.LTE, "<="), "≥": (TokenType.GTE, ">="), "≠": (TokenType.NEQ, "<>")}


def create_aggregate(cursor: Cursor) -> Statement:
    """CREATE [OR REPLACE] [ALGEBRAIC] [WINDOW] AGGREGATE f (...) : ... { ... } or LANGUAGE PYTHON '...'."""
    try:
        return _aggregate(cursor)
    except EslSyntaxError as problem:
        problem.hint = problem.hint or _EXAMPLE
        raise
    except RecursionError:
        hint = "put a part of it into a statement of its own"
        cursor.fail("an expression is nested too deeply", hint=hint, span=tokens_span(cursor.tokens))


def _aggregate(cursor: Cursor) -> Statement:
    _respell(cursor)
    span = tokens_span(cursor.tokens)
    cursor.expect("CREATE")
    or_replace = cursor.take("OR", "REPLACE")
    algebraic = cursor.take("ALGEBRAIC")
    window = cursor.take("WINDOW")
    cursor.expect("AGGREGATE", hint=_EXAMPLE)
    cursor.clause = "CREATE AGGREGATE"
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    if or_replace and if_not_exists:
        span_ = tokens_span(cursor.tokens[cursor.index - 3 : cursor.index])
        cursor.fail("OR REPLACE and IF NOT EXISTS contradict each other", hint="keep one of them", span=span_)
    name = cursor.name("the aggregate")
    written = cursor.bracketed("the parameters")
    parameters = read_schema(cursor, written) if written else Schema()
    spans = tuple(tokens_span(part[:1]) for part in split(written, TokenType.COMMA, types=True)) if written else ()
    if not cursor.take(":") and not cursor.take("RETURNS"):
        cursor.fail("expected ':' and the type of the result", hint=_EXAMPLE)
    result, result_span = _result(cursor, name)
    common = {
        "text": cursor.text,
        "span": span,
        "name": name,
        "parameters": parameters,
        "result": result,
        "window": window,
        "algebraic": algebraic,
        "if_not_exists": if_not_exists,
        "or_replace": or_replace,
    }
    if cursor.take("LANGUAGE"):
        cursor.expect("PYTHON", hint="LANGUAGE PYTHON 'package.module:Class'")
        place = cursor.string("the class", hint="LANGUAGE PYTHON 'package.module:Class'")
        return CreatePythonAggregate(place=place, **common)  # type: ignore[arg-type]
    tables, parts = _body(cursor)
    return CreateAggregate(
        tables=tables,
        parts=parts,
        parameter_spans=spans,
        result_span=result_span,
        **common,  # type: ignore[arg-type]
    )


def explain_aggregate(cursor: Cursor) -> Statement:
    """EXPLAIN AGGREGATE f."""
    span = tokens_span(cursor.tokens)
    cursor.expect("EXPLAIN", "AGGREGATE")
    return ExplainAggregate(text=cursor.text, span=span, name=cursor.name("the aggregate"))


def _respell(cursor: Cursor) -> None:
    cursor.tokens = [
        Token(*_PRINTED[t.text], t.line, t.col, t.start, t.end) if t.text in _PRINTED else t for t in cursor.tokens
    ]


def _result(cursor: Cursor, name: Name) -> tuple[Schema, Span]:
    start = cursor.index
    if cursor.peek("("):
        tokens = cursor.bracketed("the columns of the result")
        if not tokens:
            cursor.fail("the result needs a column", hint=_EXAMPLE, span=tokens_span(cursor.tokens[start : start + 1]))
        schema = read_schema(cursor, tokens)
        return schema, tokens_span(cursor.tokens[start : cursor.index])
    depth = 0
    while (token := cursor.current) is not None:
        if depth == 0 and (token.token_type is TokenType.L_BRACE or token.text.upper() == "LANGUAGE"):
            break
        depth += (token.token_type is TokenType.LT) - (token.token_type is TokenType.GT)
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSED)
        cursor.index += 1
    tokens = cursor.tokens[start : cursor.index]
    if not tokens:
        cursor.fail("expected the type of the result", hint=_EXAMPLE)
    # A column of a fixed name, so that the type is read, and complained about, like that of any other column.
    named = [_word(name.text, tokens[0]), *tokens]
    (column,) = read_schema(cursor, named)
    return Schema([Column(name.text, column.type, column.nullable)]), tokens_span(tokens)


def _word(text: str, at: Token) -> Token:
    return Token(TokenType.IDENTIFIER, text, at.line, at.col, at.start, at.end)


# -- what stands in the braces ---------------------------------------------------------------------------------------


def _body(cursor: Cursor) -> tuple[tuple[DeclaredTable, ...], tuple[Part, ...]]:
    inside = Cursor(_braced(cursor, "the body of the aggregate"), cursor.text)
    end = cursor.tokens[cursor.index - 1]
    inside.clause = cursor.clause
    tables: list[DeclaredTable] = []
    parts: list[Part] = []
    while not inside.at_end:
        if inside.take(";"):
            continue
        if inside.peek("TABLE"):
            tables.append(_table(inside))
        else:
            parts.append(_part(inside))
    if not tables and not parts:
        cursor.fail("the body is empty", hint=_EXAMPLE, span=(end.start, end.end + 1))
    return tuple(tables), tuple(parts)


def _braced(cursor: Cursor, what: str) -> list[Token]:
    opening = cursor.current
    if opening is None or opening.token_type is not TokenType.L_BRACE:
        cursor.fail(f"expected {what} in braces", hint=_EXAMPLE)
    start, depth = cursor.index + 1, 0
    while (token := cursor.current) is not None:
        depth += (token.token_type is TokenType.L_BRACE) - (token.token_type is TokenType.R_BRACE)
        cursor.index += 1
        if depth == 0:
            return cursor.tokens[start : cursor.index - 1]
    span = (opening.start, opening.end + 1)
    cursor.fail("this brace is never closed", hint="add the missing '}'", span=span)


def _until_semicolon(cursor: Cursor) -> Cursor:
    """The tokens of one statement, as a cursor of its own."""
    start, depth = cursor.index, 0
    while (token := cursor.current) is not None:
        if depth == 0 and token.token_type is TokenType.SEMICOLON:
            break
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSED)
        cursor.index += 1
    inside = Cursor(cursor.tokens[start : cursor.index], cursor.text)
    cursor.take(";")
    return inside


def _table(cursor: Cursor) -> DeclaredTable:
    inside = _until_semicolon(cursor)
    inside.clause = "TABLE"
    inside.expect("TABLE")
    name = inside.name("the table")
    schema = read_schema(inside, inside.bracketed("the columns"))
    rows: tuple[tuple[exp.Expression, ...], ...] = ()
    if inside.take("AS"):
        inside.expect("VALUES", hint="the first rows of a table: TABLE t (a INT) AS VALUES (1), (2);")
        rows = _rows(inside)
    _finish(inside, "put a ';' after each table")
    return DeclaredTable(name, schema, rows)


def _part(cursor: Cursor) -> Part:
    words: list[Name] = []
    while not cursor.peek("{"):
        token = cursor.current
        if token is None or token.text.upper() not in PARTS:
            hint = suggest(token.text if token else "", (*PARTS, "TABLE"))
            cursor.fail("expected a part of the aggregate", hint=hint)
        words.append(replace(cursor.name("a part"), text=token.text.upper()))
        cursor.expect(":", hint="write INITIALIZE: { ... }")
    if not words:
        cursor.fail("these braces belong to no part", hint="write INITIALIZE: { ... }")
    inside = Cursor(_braced(cursor, "statements"), cursor.text)
    statements: list[BodyStatement] = []
    while not inside.at_end:
        if not inside.take(";"):
            one = _until_semicolon(inside)
            one.clause = words[-1].text
            statements.append(_statement(one))
    return Part(tuple(words), tuple(statements))


def _statement(cursor: Cursor) -> BodyStatement:
    for word, read in (("INSERT", _insert), ("UPDATE", _update), ("DELETE", _delete)):
        if cursor.peek(word):
            return read(cursor)
    token = cursor.current
    hint = suggest(token.text if token else "", ("INSERT", "UPDATE", "DELETE"))
    if cursor.peek("SELECT"):
        hint = "say where its rows go: INSERT INTO RETURN SELECT ..."
    cursor.fail("expected INSERT, UPDATE or DELETE", hint=hint)


def _insert(cursor: Cursor) -> BodyStatement:
    span = tokens_span(cursor.tokens)
    cursor.expect("INSERT", "INTO", hint="INSERT INTO t VALUES (...)")
    table = cursor.name("a local table, or RETURN")
    columns: tuple[Name, ...] = ()
    if cursor.peek("(") and not _opens_query(cursor):
        columns = read_names(cursor, cursor.bracketed("the columns"))
    if not cursor.take("VALUES"):
        select = read_query(cursor)
        return BodyInsert(table, columns, (), select, None, span)
    rows = _rows(cursor)
    where = _where(cursor)
    _finish(cursor, "after the values only WHERE can come")
    return BodyInsert(table, columns, rows, None, where, span)


def _opens_query(cursor: Cursor) -> bool:
    after = cursor.tokens[cursor.index + 1 : cursor.index + 2]
    return bool(after) and after[0].token_type in {TokenType.SELECT, TokenType.L_PAREN, TokenType.WITH}


def _update(cursor: Cursor) -> BodyStatement:
    span = tokens_span(cursor.tokens)
    cursor.expect("UPDATE")
    table = cursor.name("a local table")
    cursor.expect("SET", hint="UPDATE t SET column = value WHERE ...")
    tokens = _until_where(cursor)
    columns, values = [], []
    for part in split(tokens, TokenType.COMMA):
        if not part:
            cursor.fail("expected column = value", hint="UPDATE t SET column = value WHERE ...")
        change = Cursor(part, cursor.text)
        change.clause = "SET"
        columns.append(change.name("the column"))
        change.expect("=", hint="UPDATE t SET column = value WHERE ...")
        values.append(change.parsed(dialect.parse_expression, change.rest(), "a value"))
    where = _where(cursor)
    _finish(cursor, "UPDATE t SET column = value WHERE ...")
    return BodyUpdate(table, tuple(columns), tuple(values), where, span)


def _delete(cursor: Cursor) -> BodyStatement:
    span = tokens_span(cursor.tokens)
    cursor.expect("DELETE", "FROM", hint="DELETE FROM t WHERE ...")
    table = cursor.name("a local table")
    where = _where(cursor)
    _finish(cursor, "DELETE FROM t WHERE ...")
    return BodyDelete(table, where, span)


def _rows(cursor: Cursor) -> tuple[tuple[exp.Expression, ...], ...]:
    rows = [_row(cursor)]
    while cursor.take(","):
        rows.append(_row(cursor))
    return tuple(rows)


def _row(cursor: Cursor) -> tuple[exp.Expression, ...]:
    tokens = cursor.bracketed("values")
    parts = split(tokens, TokenType.COMMA)
    if not all(parts):
        at = cursor.tokens[cursor.index - 1]
        cursor.fail("a value is missing here", hint="VALUES (1, 'a')", span=(at.start, at.end + 1))
    return tuple(cursor.parsed(dialect.parse_expression, part, "a value") for part in parts)


def _until_where(cursor: Cursor) -> list[Token]:
    start, depth = cursor.index, 0
    while (token := cursor.current) is not None:
        if depth == 0 and token.token_type is TokenType.WHERE:
            break
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSED)
        cursor.index += 1
    return cursor.tokens[start : cursor.index]


def _where(cursor: Cursor) -> exp.Expression | None:
    if not cursor.take("WHERE"):
        return None
    return cursor.parsed(dialect.parse_expression, cursor.rest(), "a condition")


def _finish(cursor: Cursor, hint: str) -> None:
    if not cursor.at_end:
        cursor.fail("nothing more was expected here", hint=f"{hint}; statements are parted by ';'")


_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSED = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
