"""FROM ... INSERT INTO ... SELECT ...: read so that each SELECT becomes one of its own."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.language.parse.cursor import Cursor, tokens_span
from millstream.language.parse.history import take_start
from millstream.language.parse.parts import read_query
from millstream.language.parse.statements import Name, SplitInto, Statement

FORM = "FROM stream INSERT INTO a SELECT ... WHERE ... INSERT INTO b SELECT ... WHERE ..."

OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
AFTER_FROM = frozenset({"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "MERGE", "EMIT"})


def split_into(cursor: Cursor) -> Statement:
    """The statement; the tokens of FROM are put into every SELECT, where each keeps its place in the text."""
    span = tokens_span(cursor.tokens)
    start = take_start(cursor)
    tokens = cursor.tokens
    starts = [i for i in _outside(tokens) if _is(tokens, i, "INSERT") and _is(tokens, i + 1, "INTO")]
    if not starts:
        cursor.index = len(tokens)
        cursor.fail("a statement that begins with FROM says where the rows go", hint=FORM)
    source = tokens[: starts[0]]
    if len(source) < 2:
        cursor.index = 1
        cursor.fail("expected a stream after FROM", hint=FORM)
    outputs = []
    for first, last in zip(starts, [*starts[1:], len(tokens)], strict=True):
        part = Cursor(tokens[first:last], cursor.text)
        part.clause = "INSERT INTO"
        outputs.append(_output(part, source))
    cursor.index = len(tokens)
    return SplitInto(text=cursor.text, span=span, outputs=tuple(outputs), start=start)


def _output(part: Cursor, source: list[Token]) -> tuple[Name, exp.Query]:
    part.expect("INSERT", "INTO")
    sink = part.name("the sink")
    if not part.peek("SELECT"):
        part.fail("expected SELECT", hint=FORM)
    tokens = part.rest()
    again = next((i for i in _outside(tokens) if _is(tokens, i, "FROM")), None)
    if again is not None:
        part.fail("FROM stands once, before the first INSERT INTO", span=tokens_span([tokens[again]]), hint=FORM)
    end = next((i for i in _outside(tokens) if tokens[i].text.upper() in AFTER_FROM), len(tokens))
    whole = Cursor([*tokens[:end], *source, *tokens[end:]], part.text)
    whole.clause = part.clause
    return sink, read_query(whole)


def _outside(tokens: list[Token]) -> list[int]:
    """The places of the tokens that stand in no brackets."""
    depth, found = 0, []
    for index, token in enumerate(tokens):
        depth -= token.token_type in CLOSING
        if not depth and token.token_type not in {TokenType.STRING, TokenType.IDENTIFIER}:
            found.append(index)
        depth += token.token_type in OPENING
    return found


def _is(tokens: list[Token], index: int, word: str) -> bool:
    return index < len(tokens) and tokens[index].text.upper() == word
