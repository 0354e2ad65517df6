"""The windows behind the inputs of a join: `a [RANGE 3 MINUTES, WA ts]`, `b [RANGE TUMBLING 5 MINUTES, WA ts]`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslSyntaxError
from millstream.language.clauses.window_clause import ALL, MICROSECOND, clause_tokens
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.statements import Name, Span

PARTS = ("RANGE", "WA", "RATTR")


@dataclass(frozen=True)
class JoinWindow:
    """How long a tuple of one input waits for partners, in microseconds; None is for ever (RANGE ALL).

    Or, `tumbling`: the tuples of both inputs meet that are in one window of this length.
    """

    range: int | None
    tumbling: bool
    time: Name | None
    span: Span


def join_window(node: EslWindow, text: str) -> JoinWindow:
    """The window of an input."""
    tokens, span = clause_tokens(node)
    cursors = dict(_parts(tokens, span, text))
    if "RANGE" not in cursors:
        hint = "as in [RANGE 3 MINUTES, WA ts] or [RANGE TUMBLING 5 MINUTES, WA ts]"
        raise EslSyntaxError("the window of a join needs a RANGE of time", text, span, clause="window", hint=hint)
    tumbling = cursors["RANGE"].take("TUMBLING")
    range_ = _range(cursors["RANGE"], tumbling)
    time = cursors["WA"].dotted_name("the time-stamp column") if "WA" in cursors else None
    for cursor in cursors.values():
        if not cursor.at_end:
            cursor.fail("nothing more was expected in this part of the window", hint="parts are separated by commas")
    return JoinWindow(range_, tumbling, time, span)


def _parts(tokens: list[Token], span: Span, text: str) -> Iterator[tuple[str, Cursor]]:
    """A cursor behind the word of each part."""
    for part in split(tokens, TokenType.COMMA):
        cursor = Cursor(part, text)
        cursor.clause = "window"
        word = next((w for w in PARTS if cursor.take(w)), None)
        if word is None:
            named = part[0].text if part else ","
            hint = "the window of a join has a RANGE of time and a WA, as in [RANGE 3 MINUTES, WA ts]"
            message = f"'{named}' is no part of the window of a join"
            raise EslSyntaxError(message, text, tokens_span(part) if part else span, clause="window", hint=hint)
        yield {"RATTR": "WA"}.get(word, word), cursor


def _range(cursor: Cursor, tumbling: bool) -> int | None:
    if not tumbling and cursor.take(ALL):
        return None
    if cursor.counts_rows():
        hint = "give it a RANGE of time, as in RANGE 3 MINUTES"
        cursor.fail("tuples are joined by their time stamps, not by their number", hint=hint)
    length = cursor.interval()
    if tumbling and length < MICROSECOND:
        cursor.fail("RANGE must be longer than nothing", hint="as in RANGE TUMBLING 5 MINUTES")
    return length // MICROSECOND
