"""Statements that manage what is defined: STOP, START and ALTER, and the versions that SHOW lists."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslSyntaxError, NotYet, suggest
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.history import take_start
from millstream.language.parse.parts import read_query
from millstream.language.parse.statements import (
    AlterQuery,
    AlterQueryWindow,
    AlterStream,
    Rename,
    ShowVersions,
    StartQuery,
    Statement,
    StopQuery,
)

KINDS = ("STREAM", "TABLE", "VIEW", "SINK", "QUERY", "AGGREGATE", "WINDOW AGGREGATE")
"""What has a name, in the words of statements."""

CHANGEABLE = {
    "slack": "SLACK",
    "ahead": "AHEAD",
    "idle_after": "IDLE AFTER",
    "keep": "KEEP",
    "on_bad_file": "ON BAD FILE",
}
"""The clauses of streams on which no state depends, and how they are written."""

ReadClause = Callable[[Cursor], tuple[str, object]]
"""Reads one clause of CREATE STREAM."""


def stop_query(cursor: Cursor) -> Statement:
    """STOP QUERY q."""
    span = tokens_span(cursor.tokens)
    cursor.expect("STOP", "QUERY", hint="STOP QUERY hot")
    return StopQuery(text=cursor.text, span=span, name=cursor.name("the query"))


def start_query(cursor: Cursor) -> Statement:
    """START QUERY q."""
    span = tokens_span(cursor.tokens)
    cursor.expect("START", "QUERY", hint="START QUERY hot")
    return StartQuery(text=cursor.text, span=span, name=cursor.name("the query"))


def show_versions(cursor: Cursor) -> Statement:
    """SHOW VERSIONS OF QUERY q."""
    span = tokens_span(cursor.tokens)
    cursor.expect("SHOW", "VERSIONS")
    cursor.expect("OF", hint="SHOW VERSIONS OF QUERY hot")
    kind = _kind(cursor, "of what to show the versions")
    return ShowVersions(text=cursor.text, span=span, kind=kind, name=cursor.name(f"the {kind.lower()}"))


def alter(cursor: Cursor, read_clause: ReadClause) -> Statement:
    """ALTER QUERY q AS | WINDOW, ALTER STREAM s SET (...), ALTER ... x RENAME TO y."""
    span = tokens_span(cursor.tokens)
    cursor.expect("ALTER")
    kind = _kind(cursor, "what to alter")
    cursor.clause = f"ALTER {kind}"
    name = cursor.name(f"the {kind.lower()}")
    if kind == "VIEW":
        message, hint = "a view cannot be altered or renamed yet", f"DROP VIEW {name}, and create it anew"
        raise NotYet(message, cursor.text, name.span, clause=cursor.clause, hint=hint)
    if cursor.take("RENAME"):
        cursor.expect("TO", hint=f"ALTER {kind} {name} RENAME TO other")
        return Rename(text=cursor.text, span=span, kind=kind, name=name, to=cursor.name(f"the {kind.lower()}"))
    if kind == "QUERY" and cursor.take("AS"):
        starting_now = _take_starting_now(cursor)
        if cursor.at_end:
            cursor.fail("expected a SELECT", hint=f"ALTER QUERY {name} AS SELECT ...")
        if (start := take_start(cursor)) is not None:
            hint = "leave START AT out; or create another query, with that START AT"
            cursor.fail("a query stays where it has begun", span=start.span, hint=hint)
        body = tokens_span(cursor.tokens[cursor.index :])
        select = read_query(cursor)
        return AlterQuery(text=cursor.text, span=span, name=name, select=select, body=body, starting_now=starting_now)
    if kind == "QUERY" and cursor.take("WINDOW"):
        starting_now = _take_starting_now(cursor)
        tokens = cursor.rest()
        words = [token.text.upper() for token in tokens]
        is_window = words[:1] == ["["] and words[-1:] == ["]"] and words[1] in dialect.WINDOW_WORDS
        if not is_window or _closes_early(tokens):
            cursor.index -= len(tokens)
            cursor.fail("expected a window in brackets", hint=f"ALTER QUERY {name} WINDOW [RANGE 1 HOUR]")
        window = cursor.text[slice(*tokens_span(tokens))]
        return AlterQueryWindow(text=cursor.text, span=span, name=name, window=window, starting_now=starting_now)
    if kind == "STREAM" and cursor.take("SET"):
        clauses: dict[str, str | None] = {}
        for part in split(cursor.bracketed("the clauses", hint=_ways(kind, str(name))), TokenType.COMMA):
            clause, written = _changed_clause(cursor, part, read_clause)
            if clause in clauses:
                cursor.fail(f"{CHANGEABLE[clause]} is given twice", hint="keep one of them", span=tokens_span(part))
            clauses[clause] = written
        return AlterStream(text=cursor.text, span=span, name=name, clauses=clauses)
    cursor.fail("expected what to change", hint=f"{_ways(kind, str(name))}")


def _kind(cursor: Cursor, what: str) -> str:
    for kind in KINDS:
        if cursor.take(*kind.split()):
            return kind
    token = cursor.current
    cursor.fail(f"expected {what}", hint=suggest(token.text if token else "", KINDS))


def _ways(kind: str, name: str) -> str:
    ways = {
        "QUERY": f"ALTER QUERY {name} AS SELECT ..., WINDOW [RANGE ...] or RENAME TO ...",
        "STREAM": f"ALTER STREAM {name} SET (SLACK = 5 SECONDS) or RENAME TO ...; else CREATE OR REPLACE STREAM",
    }
    return ways.get(kind, f"ALTER {kind} {name} RENAME TO ...; for all else CREATE OR REPLACE")


def _take_starting_now(cursor: Cursor) -> bool:
    """Read STARTING NOW at the end of a statement."""
    last = Cursor(cursor.tokens[max(cursor.index, len(cursor.tokens) - 2) :], cursor.text)
    found = last.peek("STARTING", "NOW")
    if found:
        cursor.tokens = cursor.tokens[:-2]
    return found


def _closes_early(tokens: list[Token]) -> bool:
    """Whether the first bracket is closed before the last token."""
    depth = 0
    for token in tokens[:-1]:
        depth += (token.text == "[") - (token.text == "]")
        if depth == 0:
            return True
    return False


def _changed_clause(cursor: Cursor, part: list[Token], read_clause: ReadClause) -> tuple[str, str | None]:
    """`SLACK = 5 SECONDS`: the clause, and how it is written; nothing for `= DEFAULT`."""
    hint = f"SET (SLACK = 5 SECONDS, IDLE AFTER = DEFAULT); clauses are {', '.join(CHANGEABLE.values())}"
    at = next((i for i, token in enumerate(part) if token.token_type is TokenType.EQ), None)
    if not part or not at or at + 1 == len(part):
        span = tokens_span(part) if part else tokens_span(cursor.tokens[-1:])
        cursor.fail("expected a clause, '=' and a value", hint=hint, span=span)
    words, value = part[:at], part[at + 1 :]
    said = " ".join(token.text.upper() for token in words)
    known = next((clause for clause, written in CHANGEABLE.items() if written == said), None)
    if known is None:
        fixed = said in {"ORDER BY", "SOURCE", "OPTIONS", "PUNCTUATED BY"}
        message = f"{said} decides what the tuples are" if fixed else f"'{said}' is no clause of streams"
        if fixed:
            hint = "CREATE OR REPLACE STREAM ..., if the queries over it can be kept; or drop them first"
        raise EslSyntaxError(message, cursor.text, tokens_span(words), clause=cursor.clause, hint=hint)
    if len(value) == 1 and Cursor(value, cursor.text).peek("DEFAULT"):
        return known, None
    inner = Cursor([*words, *value], cursor.text)
    inner.clause = cursor.clause
    read_clause(inner)
    if not inner.at_end:
        inner.fail("nothing more was expected", hint=hint)
    return known, f"{CHANGEABLE[known]} {cursor.text[slice(*tokens_span(value))]}"
