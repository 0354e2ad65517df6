"""The clauses of kept history: KEEP, SINCE, UNTIL and START AT."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlglot.tokenizer_core import Token, TokenType

from millstream.catalog.keep import SIZES, Keep
from millstream.catalog.moment import MICROSECOND, At, Moment
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, tokens_span
from millstream.language.parse.history_words import MOMENT
from millstream.language.parse.statements import Start

_KEEP = "write KEEP 2 HOURS, KEEP 10 GB, or KEEP ALL"
_NOT_BEFORE_START = {TokenType.SELECT, TokenType.FROM, TokenType.COMMA, TokenType.JOIN, TokenType.DOT}
_NEVER_A_MOMENT = {TokenType.FROM, TokenType.COMMA, TokenType.WHERE, TokenType.JOIN, TokenType.DOT, TokenType.EQ}


def read_keep(cursor: Cursor) -> Keep:
    """How much is kept: what stands behind KEEP."""
    before, cursor.clause = cursor.clause, "KEEP"
    keep = _keep(cursor)
    cursor.clause = before
    return keep


def _keep(cursor: Cursor) -> Keep:
    if cursor.take("ALL"):
        return Keep()
    ahead = cursor.tokens[cursor.index : cursor.index + 2]
    if not ahead or ahead[0].token_type not in {TokenType.NUMBER, TokenType.STRING, TokenType.INTERVAL}:
        cursor.fail("expected how much is kept", hint=_KEEP)
    number, span = ahead[0], tokens_span(ahead)
    if len(ahead) < 2 or number.token_type is not TokenType.NUMBER or ahead[1].text.upper() not in SIZES:
        length = cursor.interval()
        if length <= timedelta(0):
            cursor.fail("a history of no length is none", hint=_KEEP, span=span)
        return Keep(length=length)
    cursor.index += 2
    if not number.text.isdecimal() or int(number.text) == 0:
        cursor.fail("a size is a whole number above 0", hint=_KEEP, span=span)
    return Keep(size=int(number.text) * SIZES[ahead[1].text.upper()])


def read_moment(cursor: Cursor) -> Moment:
    """A moment in a history."""
    if cursor.take("EARLIEST"):
        return Moment(At.EARLIEST)
    if cursor.take("NOW"):
        if not cursor.take("-"):
            return Moment(At.NOW)
        return Moment(At.AGO, cursor.interval() // MICROSECOND)
    cursor.take("TIMESTAMP")
    written = cursor.string("a moment", hint=MOMENT)
    try:
        moment = datetime.fromisoformat(written.text)
    except ValueError:
        cursor.fail(f"'{written.text}' is no time", hint=MOMENT, span=written.span)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Moment(At.TIME, (moment - datetime(1970, 1, 1, tzinfo=UTC)) // MICROSECOND)


def span_moments(tokens: Sequence[Token], text: str) -> tuple[Moment, Moment | None]:
    """The moments of `SINCE t UNTIL u`."""
    cursor = Cursor(list(tokens), text)
    cursor.clause = "SINCE"
    cursor.expect("SINCE")
    since, until = read_moment(cursor), None
    if cursor.take("UNTIL"):
        cursor.clause = "UNTIL"
        until = read_moment(cursor)
    if not cursor.at_end:
        cursor.fail(f"nothing more was expected after {cursor.clause}", hint=MOMENT)
    return since, until


def take_start(cursor: Cursor) -> Start | None:
    """Take START AT from the end of a statement, if it is there; a column may be named like its words."""
    tokens = cursor.tokens
    depth, found = 0, None
    for index in range(cursor.index, len(tokens) - 1):
        token, after = tokens[index], tokens[index + 1]
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        words = (token.text.upper(), after.text.upper()) == ("START", "AT") and token.token_type is TokenType.VAR
        beyond = tokens[index + 2].token_type if index + 2 < len(tokens) else None
        before = tokens[index - 1].token_type
        if words and not depth and before not in _NOT_BEFORE_START and beyond not in _NEVER_A_MOMENT:
            found = index
    if found is None:
        return None
    clause = Cursor(tokens[found:], cursor.text)
    clause.clause = "START AT"
    clause.expect("START", "AT")
    moment = read_moment(clause)
    if not clause.at_end:
        clause.fail("nothing more was expected after START AT", hint="START AT is the end of a statement")
    span = tokens_span(tokens[found:])
    del tokens[found:]
    return Start(moment, span)


def start_clause(text: str) -> str:
    """The START AT of a statement as it is written, behind a space; nothing if there is none.

    >>> start_clause("CREATE QUERY q AS SELECT a FROM s START AT NOW")
    ' START AT NOW'
    """
    start = take_start(Cursor(dialect.tokenize(text), text))
    return "" if start is None else f" {text[slice(*start.span)]}"
