"""REGISTER, UNREGISTER, INVOKE and SHOW REGISTRATIONS, and the parameters of a template."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.catalog.schema import Schema
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.parts import read_query, read_schema
from millstream.language.parse.standing.registration_statements import (
    Invoke,
    Register,
    ShowRegistrations,
    Unregister,
    Written,
)
from millstream.language.parse.statements import Name, Span, Statement

REGISTRATIONS = "REGISTRATIONS"

_PLAIN = re.compile(r"\d+(\.\d+)?")

_ARGUMENTS = "REGISTER alert (7, 99.5) AS h, REGISTER alert VALUES (7, 99.5), (8, 50), or REGISTER alert SELECT ..."


def read_parameters(cursor: Cursor) -> tuple[Schema, dict[str, Span]]:
    """The parameters of a template, and where each is written."""
    tokens = cursor.bracketed("the parameters")
    if not tokens:
        cursor.index -= 1
        cursor.fail("expected a parameter", hint="CREATE QUERY alert (item INT, low REAL) AS SELECT ...")
    places = {
        part[0].text.lower(): tokens_span(part[:1]) for part in split(tokens, TokenType.COMMA, types=True) if part
    }
    return read_schema(cursor, tokens), places


def register(cursor: Cursor) -> Statement:
    """REGISTER template (arguments) [AS handle]."""
    span = tokens_span(cursor.tokens)
    cursor.expect("REGISTER")
    template = cursor.name("the template")
    if cursor.peek("SELECT") or cursor.peek("WITH"):
        return Register(text=cursor.text, span=span, template=template, select=read_query(cursor))
    several = cursor.take("VALUES")
    if not cursor.peek("("):
        cursor.fail("expected the arguments in parentheses", hint=_ARGUMENTS)
    rows = [_written(cursor)]
    while several and cursor.take(","):
        rows.append(_written(cursor))
    return Register(text=cursor.text, span=span, template=template, rows=tuple(rows))


def _written(cursor: Cursor) -> Written:
    begin = cursor.index
    tokens = cursor.bracketed("the arguments", hint=_ARGUMENTS)
    span = tokens_span(cursor.tokens[begin : cursor.index])
    handle = cursor.name("the handle") if cursor.take("AS") else None
    if not tokens:
        cursor.fail("expected an argument", hint=_ARGUMENTS, span=span)
    parts = split(tokens, TokenType.COMMA)
    if not all(parts):
        cursor.fail("an argument is missing between the commas", hint="as in (7, 99.5)", span=tokens_span(tokens))
    return Written(tuple(_argument(cursor, part) for part in parts), span, handle)


def _argument(cursor: Cursor, tokens: list[Token]) -> exp.Expression:
    # By the thousand: a parser for each of them would take most of the time.
    token = tokens[0]
    if len(tokens) == 1 and token.token_type is TokenType.STRING:
        return _placed(exp.Literal.string(token.text), token)
    if len(tokens) == 1 and token.token_type is TokenType.NUMBER and _PLAIN.fullmatch(token.text):
        return _placed(exp.Literal.number(token.text), token)
    return cursor.parsed(dialect.parse_expression, tokens, "an argument")


def _placed(literal: exp.Expression, token: Token) -> exp.Expression:
    literal.meta.update(start=token.start, end=token.end)
    return literal


def unregister(cursor: Cursor) -> Statement:
    """UNREGISTER handle, ..."""
    span = tokens_span(cursor.tokens)
    cursor.expect("UNREGISTER")
    handles = [cursor.name("the handle")]
    while cursor.take(","):
        handles.append(cursor.name("the handle"))
    return Unregister(text=cursor.text, span=span, handles=tuple(handles))


def invoke(cursor: Cursor) -> Statement:
    """INVOKE handle [SINCE time | SINCE LAST]."""
    span = tokens_span(cursor.tokens)
    cursor.expect("INVOKE")
    handle = cursor.name("the handle")
    if not cursor.take("SINCE"):
        return Invoke(text=cursor.text, span=span, handle=handle)
    tokens = cursor.tokens[cursor.index :]
    if len(tokens) == 1 and cursor.take("LAST"):
        return Invoke(text=cursor.text, span=span, handle=handle, last=True)
    if not tokens:
        cursor.fail("expected a time, or LAST", hint="INVOKE h SINCE TIMESTAMP '2026-01-01 12:00:00', or SINCE LAST")
    since = cursor.parsed(dialect.parse_expression, cursor.rest(), "a time")
    return Invoke(text=cursor.text, span=span, handle=handle, since=since)


def show_registrations(cursor: Cursor, span: Span) -> Statement:
    """SHOW REGISTRATIONS [OF template]."""
    cursor.expect(REGISTRATIONS)
    template: Name | None = cursor.name("the template") if cursor.take("OF") else None
    return ShowRegistrations(text=cursor.text, span=span, template=template)
