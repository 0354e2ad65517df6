"""What is said of words that cannot be understood: where they stand, and what to write instead."""

from __future__ import annotations

import re

from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

Span = tuple[int, int]


class UnexpectedToken(ParseError):
    """A syntax error that knows the span of the token it met."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


class NotUnderstood(UnexpectedToken):
    """A word that sqlglot could read and nothing here can; it knows the way out."""

    def __init__(self, message: str, span: Span, *, clause: str = "", hint: str = "") -> None:
        super().__init__(message, span)
        self.message = message
        self.clause = clause
        self.hint = hint

    @classmethod
    def of(cls, name: str, tokens: list[Token], span: Span | None, after: int) -> NotUnderstood:
        """The error for an argument that sqlglot calls `name`; it names its word, or what stands in its place."""
        word = _WORDS.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name.strip("_")).upper()
        if place := _place(word, tokens, after):
            return cls(f"{word} is not part of ESL", place, clause=word, hint=hint_for(word))
        at = span or (tokens[0].start, tokens[-1].end + 1)
        found = next((token.text for token in tokens if token.start >= at[0]), tokens[-1].text)
        return cls(f"'{found}' is not understood here", at, hint=hint_for(word))


def hint_for(word: str) -> str:
    """What to write instead of a word."""
    return _HINTS.get(word, "docs/language.md lists what is")


def _place(word: str, tokens: list[Token], after: int) -> Span | None:
    """Where a word stands, behind a place if there are several."""
    spelt = word.split()
    quoted = {TokenType.STRING, TokenType.IDENTIFIER}
    places = [
        (token.start, token.end + 1)
        for token in tokens
        if token.token_type not in quoted and token.text.upper().split()[-1:] in (spelt[-1:], [spelt[0]])
    ]
    return next((p for p in places if p[0] >= after), places[0] if places else None)


_WORDS = {
    "laterals": "LATERAL VIEW",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "locks": "FOR UPDATE",
    "with_fill": "FILL",
    "operation_modifiers": "SELECT",
    "is_global": "GLOBAL",
    "global_": "GLOBAL",
    "except_": "EXCEPT",
    "HavingMax": "HAVING",
    "Star": "*",
    "Kwarg": "=>",
    "Order": "ORDER BY",
    "JSONExtract": ":",
    "limit_options": "PERCENT",
    "Limit.expressions": "BY",
    "Limit.this": "LIMIT",
}
_GROUPINGS = "write a SELECT for each grouping, and UNION ALL between them"
_HINTS = {
    "ALIAS": "a name can follow only a column of the SELECT, or an input in FROM",
    "ROLLUP": _GROUPINGS,
    "CUBE": _GROUPINGS,
    "GROUPING SETS": _GROUPINGS,
    "ALL": "name each key",
    "COLUMNS": "name the columns in the SELECT itself: SELECT x AS a",
    "CATALOG": "streams and tables are in no folders: write the name alone",
    "ON": "DISTINCT takes no columns: it compares whole rows",
    "FETCH": "write LIMIT 10",
    "BY NAME": "write the columns of all SELECTs in the same order",
    "MATERIALIZED": "leave it out",
    "AT TIME ZONE": "write from_utc_timestamp(ts, 'Europe/Berlin')",
    "=>": "give the arguments in their order",
    "*": "name the columns",
    "COLLATE": "texts are compared by their bytes; lower(x) = lower(y) looks past capital letters",
    "TABLESAMPLE": "choose with WHERE rand() < 0.1",
}
