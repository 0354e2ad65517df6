"""Words that no statement can have, wherever in it they stand."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslSyntaxError
from millstream.language.parse.clause_at import clause_at

DIGITS = 38
"""So many digits has the longest number of Spark."""

OWN = "__"
"""How the names begin that the system gives to columns of its own, beside those of users."""

_NAMES = frozenset([TokenType.VAR, TokenType.IDENTIFIER])
_FIELDS = frozenset([".", "<", ":"])
"""Beside these stands the name of a field of a struct, or of what cannot be there."""


def check_text(text: str) -> None:
    """Refuse a text that cannot be written to a file."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as problem:
        message, hint = "this is half a character, which no file can hold", "write the whole character"
        raise EslSyntaxError(message, text, (problem.start, problem.end), clause="script", hint=hint) from None


def check_tokens(tokens: Sequence[Token], text: str) -> None:
    """Refuse numbers that no type holds, characters that nobody sees, and names that are the system's own."""
    braces = 0  # bodies of aggregates have tables of their own, where nothing is the system's
    for number, token in enumerate(tokens):
        braces += (token.token_type is TokenType.L_BRACE) - (token.token_type is TokenType.R_BRACE)
        wrong = _wrong(token)
        if wrong is None and not braces and token.text.startswith(OWN) and token.token_type in _NAMES:
            around = (*tokens[max(number - 1, 0) : number], *tokens[number + 1 : number + 2])
            if not any(other.text in _FIELDS for other in around):
                message = f"names that begin with {OWN} are those of the system's own columns"
                wrong = message, f"write another name, as {token.text.lstrip('_') or 'x'}"
        if wrong is not None:
            span = (token.start, token.end + 1)
            raise EslSyntaxError(wrong[0], text, span, clause=clause_at(text, token.start), hint=wrong[1])


def _wrong(token: Token) -> tuple[str, str] | None:
    """What is wrong with a word alone, and a way out."""
    if token.token_type is TokenType.NUMBER:
        return _wrong_number(token.text)
    if token.token_type is TokenType.IDENTIFIER and not token.text:
        return "a name has at least one character", "write it between the quotes"
    if token.token_type is TokenType.VAR and not token.text.isprintable():
        unseen = next(c for c in token.text if not c.isprintable())
        return f"a character stands here that nobody sees: U+{ord(unseen):04X}", "remove it"
    return None


def _wrong_number(written: str) -> tuple[str, str] | None:
    if "e" not in written.lower():
        whole, _, part = written.partition(".")
        count = max(len(whole.lstrip("0")) + len(part), len(part))
        if count > DIGITS:
            message = f"a number of {count} digits: no type has more than {DIGITS}"
            return message, "write fewer digits, or a text"
        return None
    try:
        value = float(written)
    except ValueError:
        return f"{written} is no number", "write digits behind the e, as in 1e3"
    if value == float("inf"):
        return f"{written} is beyond what a DOUBLE can hold", "the largest is 1.7976931348623157e308"
    return None


def too_deep(text: str, span: tuple[int, int]) -> EslSyntaxError:
    """The error for a statement in which brackets or operators lie too deep in one another to be read."""
    message = "this statement has too many brackets, operators or subqueries in one another"
    hint = "x IN (1, 2, ...) is short for x = 1 OR x = 2 ...; parts can become streams: CREATE STREAM s AS SELECT ..."
    return EslSyntaxError(message, text, span, clause=clause_at(text, span[0]), hint=hint)
