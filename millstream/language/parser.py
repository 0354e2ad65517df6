"""Scripts to statements: one small function per statement, found by its first words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslSyntaxError, suggest
from millstream.language.parse import dialect
from millstream.language.parse.changes import alter, show_versions, start_query, stop_query
from millstream.language.parse.checks.tokens import check_text, check_tokens, too_deep
from millstream.language.parse.create import create_query, create_sink, create_stream, create_table, read_stream_clause
from millstream.language.parse.cursor import Cursor, tokens_span
from millstream.language.parse.history import take_start
from millstream.language.parse.parts import read_query
from millstream.language.parse.split import split_into
from millstream.language.parse.standing.registrations import (
    REGISTRATIONS,
    invoke,
    register,
    show_registrations,
    unregister,
)
from millstream.language.parse.statements import (
    Analyze,
    AnalyzeQuery,
    Describe,
    Drop,
    Explain,
    SelectRows,
    SetValue,
    Show,
    Statement,
    WhyNot,
)
from millstream.language.parse.stored.read_stored import create_view, delete, insert_into, subscribe, update
from millstream.udas.parse import create_aggregate, explain_aggregate

_MARK = "\ufeff"
SHOWN = ("STREAMS", "TABLES", "VIEWS", "SINKS", "QUERIES", "BUCKETS", "SHARING", "AGGREGATES", "SETTINGS", "FUNCTIONS")
DROPPED = ("STREAM", "TABLE", "VIEW", "SINK", "QUERY", "AGGREGATE")
CREATED = ("STREAM", "TABLE", "VIEW", "SINK", "QUERY", "AGGREGATE")


def parse(text: str) -> list[Statement]:
    """All statements of a script.

    >>> [type(s).__name__ for s in parse("SHOW STREAMS; SELECT 1;")]
    ['Show', 'SelectRows']
    """
    return list(statements(text))


def statements(text: str) -> Iterator[Statement]:
    """The statements of a script one by one, so that those before a mistake can already run."""
    check_text(text)
    if text.startswith(_MARK):  # some editors begin a file with it
        text = text.replace(_MARK, " ", 1)
    for tokens in _split_script(text):
        check_tokens(tokens, text)
        try:
            statement = _statement(Cursor(tokens, text))
        except RecursionError:
            raise too_deep(text, tokens_span(tokens)) from None
        yield statement


def is_complete(text: str) -> bool:
    """Whether a text that a person is typing ends a statement.

    >>> is_complete("SELECT 1"), is_complete("SELECT 1;"), is_complete("SELECT ';")
    (False, True, False)
    """
    try:
        tokens = dialect.tokenize(text)
    except TokenError:
        return False
    depth = sum((t.token_type is TokenType.L_BRACE) - (t.token_type is TokenType.R_BRACE) for t in tokens)
    return not tokens or (tokens[-1].token_type is TokenType.SEMICOLON and depth <= 0)


def _split_script(text: str) -> Iterator[list[Token]]:
    try:
        tokens = dialect.tokenize(text)
    except TokenError as problem:
        # sqlglot says where it stopped only in its message; an unclosed quote or comment is the one cause.
        start = max(text.rfind("'"), text.rfind("/*"), text.rfind('"'), text.rfind("`"))
        raise EslSyntaxError(
            "a quote or a comment is never closed",
            text,
            (max(start, 0), max(start, 0) + 1),
            clause="script",
            hint="close it, and write a quote inside a string twice: 'it''s'",
        ) from problem
    depth = 0
    part: list[Token] = []
    for token in tokens:
        depth += (token.token_type is TokenType.L_BRACE) - (token.token_type is TokenType.R_BRACE)
        if token.token_type is TokenType.SEMICOLON and depth <= 0:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _statement(cursor: Cursor) -> Statement:
    first = cursor.tokens[0]
    head = Cursor(_without_or_replace(cursor.tokens), cursor.text)
    for words, parse_one in _STATEMENTS:
        if head.peek(*words):
            cursor.clause = " ".join(words)
            statement = parse_one(cursor)
            if not cursor.at_end:
                cursor.fail(f"nothing more was expected after {cursor.clause}", hint="end the statement with ';'")
            return statement
    if cursor.peek("CREATE"):
        cursor.clause = "CREATE"
        cursor.take("CREATE")
        cursor.fail("cannot create that", hint=f"CREATE can be followed by {', '.join(CREATED)}")
    known = sorted({words[0] for words, _ in _STATEMENTS if words[0].isalpha()})
    if first.text.upper() in known:
        cursor.clause = first.text.upper()
        cursor.index = 1
        ways = sorted({" ".join(words) for words, _ in _STATEMENTS if words[0] == cursor.clause})
        cursor.fail(f"expected {' or '.join(way.partition(' ')[2] for way in ways)}", hint=f"write {ways[0]} ...")
    raise EslSyntaxError(
        f"unknown statement '{first.text}'",
        cursor.text,
        (first.start, first.end + 1),
        clause="statement",
        hint=suggest(first.text, known, shown=len(known)),
    )


def _without_or_replace(tokens: list[Token]) -> list[Token]:
    """The tokens by which a statement is told: CREATE OR REPLACE STREAM is a CREATE STREAM."""
    words = [token.text.upper() for token in tokens[:3]]
    return [tokens[0], *tokens[3:]] if words == ["CREATE", "OR", "REPLACE"] else tokens


def _select(cursor: Cursor) -> Statement:
    span, start = tokens_span(cursor.tokens), take_start(cursor)
    return SelectRows(text=cursor.text, span=span, start=start, select=read_query(cursor))


def _explain(cursor: Cursor) -> Statement:
    span = tokens_span(cursor.tokens)
    cursor.expect("EXPLAIN")
    if cursor.peek("SELECT") or cursor.peek("WITH") or cursor.peek("("):
        return Explain(text=cursor.text, span=span, select=read_query(cursor))
    for words, _ in _STATEMENTS:
        if len(words) > 1 and cursor.peek(*words):
            hint = "EXPLAIN SELECT ... shows how it would run; EXPLAIN ANALYZE also runs an INSERT INTO"
            cursor.fail("expected a SELECT, or the name of a query", hint=hint)
    return Explain(text=cursor.text, span=span, name=cursor.name("a query, or a SELECT"))


def _why_not(cursor: Cursor) -> Statement:
    span = tokens_span(cursor.tokens)
    cursor.take("EXPLAIN", "WHY", "NOT")
    return WhyNot(text=cursor.text, span=span, name=cursor.name("a running query"))


def _analyze(cursor: Cursor) -> Statement:
    span = tokens_span(cursor.tokens)
    cursor.take("EXPLAIN", "ANALYZE")
    if cursor.take("QUERY"):
        return AnalyzeQuery(text=cursor.text, span=span, name=cursor.name("a running query"))
    for words, parse_one in _ANALYZED:
        if cursor.peek(*words):
            inner = Cursor(cursor.rest(), cursor.text)  # some statements look at all of their words
            inner.clause = " ".join(words)
            asked = parse_one(inner)
            if not inner.at_end:
                inner.fail(f"nothing more was expected after {inner.clause}", hint="end the statement with ';'")
            return Analyze(text=cursor.text, span=span, asked=asked)
    cursor.fail(
        "expected a SELECT or an INSERT INTO",
        hint="EXPLAIN ANALYZE SELECT ... runs it; EXPLAIN ANALYZE QUERY hot tells of a query that runs",
    )


def _show(cursor: Cursor) -> Statement:
    span = tokens_span(cursor.tokens)
    cursor.expect("SHOW")
    if cursor.peek(REGISTRATIONS):
        return show_registrations(cursor, span)
    for what in SHOWN:
        if cursor.take(what):
            return Show(text=cursor.text, span=span, what=what)
    token = cursor.current
    shown = (*SHOWN, REGISTRATIONS, "VERSIONS OF")
    cursor.fail("expected what to show", hint=suggest(token.text if token else "", shown))


def _describe(cursor: Cursor) -> Statement:
    span = tokens_span(cursor.tokens)
    cursor.index += 1
    return Describe(text=cursor.text, span=span, name=cursor.dotted_name("what to describe"))


def _drop(cursor: Cursor) -> Statement:
    span = tokens_span(cursor.tokens)
    cursor.expect("DROP")
    for kind in (*DROPPED, "WINDOW AGGREGATE"):
        if cursor.take(*kind.split()):
            if_exists = cursor.take("IF", "EXISTS")
            name = cursor.name(f"the {kind.lower()}")
            return Drop(text=cursor.text, span=span, kind=kind, name=name, if_exists=if_exists)
    token = cursor.current
    cursor.fail("expected what to drop", hint=suggest(token.text if token else "", DROPPED))


def _set(cursor: Cursor) -> Statement:
    span = tokens_span(cursor.tokens)
    cursor.expect("SET")
    name = cursor.dotted_name("the setting")
    if not cursor.take("="):
        cursor.expect("TO", hint="SET name = value")
    if cursor.at_end:
        cursor.fail("expected a value", hint="SET name = value")
    tokens = cursor.rest()
    value_span = tokens_span(tokens)
    value = tokens[0].text if len(tokens) == 1 else cursor.text[slice(*value_span)]
    return SetValue(text=cursor.text, span=span, name=name, value=value, value_span=value_span)


_ANALYZED: tuple[tuple[tuple[str, ...], Callable[[Cursor], Statement]], ...] = (
    (("SELECT",), _select),
    (("WITH",), _select),
    (("(",), _select),
    (("INSERT", "INTO"), insert_into),
    (("FROM",), split_into),
)
"""What EXPLAIN ANALYZE carries out."""

_STATEMENTS: tuple[tuple[tuple[str, ...], Callable[[Cursor], Statement]], ...] = (
    (("CREATE", "STREAM"), create_stream),
    (("CREATE", "TABLE"), create_table),
    (("CREATE", "VIEW"), create_view),
    (("CREATE", "SINK"), create_sink),
    (("CREATE", "QUERY"), create_query),
    (("CREATE", "AGGREGATE"), create_aggregate),
    (("CREATE", "WINDOW"), create_aggregate),
    (("CREATE", "ALGEBRAIC"), create_aggregate),
    (("INSERT", "INTO"), insert_into),
    (("FROM",), split_into),
    (("SELECT",), _select),
    (("WITH",), _select),
    (("(",), _select),
    (("EXPLAIN", "AGGREGATE"), explain_aggregate),
    (("EXPLAIN", "WHY", "NOT"), _why_not),
    (("EXPLAIN", "ANALYZE"), _analyze),
    (("EXPLAIN",), _explain),
    (("SHOW", "VERSIONS"), show_versions),
    (("SHOW",), _show),
    (("STOP",), stop_query),
    (("START",), start_query),
    (("ALTER",), partial(alter, read_clause=read_stream_clause)),
    (("DESCRIBE",), _describe),
    (("DESC",), _describe),
    (("DROP",), _drop),
    (("SET",), _set),
    (("UPDATE",), update),
    (("DELETE",), delete),
    (("SUBSCRIBE",), subscribe),
    (("REGISTER",), register),
    (("UNREGISTER",), unregister),
    (("INVOKE",), invoke),
)
