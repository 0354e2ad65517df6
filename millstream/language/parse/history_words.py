"""Where the clauses of history begin and end: their words are no reserved ones, and columns may have such names."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from millstream.intervals import UNITS

MOMENT = "write EARLIEST, NOW, NOW - INTERVAL '1' HOUR, or a time as '2026-01-01T00:00:00'"


def since_length(tokens: Sequence[Token]) -> int:
    """How many tokens `SINCE t UNTIL u` has, if that is what comes first; 0 if SINCE is a name there."""
    if _word(tokens, 0) != "SINCE" or not (length := _moment(tokens[1:])):
        return 0
    length += 1
    if _word(tokens, length) == "UNTIL":
        length += 1 + _moment(tokens[length + 1 :])
    return length


def begins_moment(tokens: Sequence[Token]) -> bool:
    """Whether a moment comes first."""
    return _moment(tokens) > 0


def _moment(tokens: Sequence[Token]) -> int:
    """How many tokens a moment has."""
    match _word(tokens, 0):
        case "EARLIEST":
            return 1
        case "NOW":
            return 2 + _length(tokens[2:]) if _word(tokens, 1) == "-" else 1
        case "TIMESTAMP" if len(tokens) > 1 and tokens[1].token_type is TokenType.STRING:
            return 2
    return int(bool(tokens) and tokens[0].token_type is TokenType.STRING)


def _length(tokens: Sequence[Token]) -> int:
    """How many tokens a length of time has: a value, perhaps between INTERVAL and units."""
    size = 1 + (_word(tokens, 0) == "INTERVAL")
    if _is_unit(tokens, size):
        size += 1
        if _word(tokens, size) == "TO" and _is_unit(tokens, size + 1):
            size += 2
    return min(size, len(tokens))


def _is_unit(tokens: Sequence[Token], index: int) -> bool:
    return _word(tokens, index).removesuffix("S") in UNITS


def _word(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text.upper() if index < len(tokens) else ""
