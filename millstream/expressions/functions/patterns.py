"""LIKE and ILIKE."""

from __future__ import annotations

import re
from functools import lru_cache, partial

import pyarrow.compute as pc

from millstream.expressions.arrow.values import Values
from millstream.expressions.functions.function import Computation, Function, Maybe, literals
from millstream.expressions.tree import BOOL, STRING, Call
from millstream.expressions.written import PREDICATE, Writing, pattern

_ESCAPE = "\\"


def like(a: Maybe, pattern: Maybe, escape: Maybe = _ESCAPE) -> Maybe:
    r"""`a LIKE pattern`.

    >>> like("a.c", "a.%"), like("abc", "a.%"), like("10%", "10\\%"), like(None, "%")
    (True, False, True, None)
    """
    return None if None in (a, pattern, escape) else _pattern(pattern, escape).fullmatch(a) is not None


def ilike(a: Maybe, pattern: Maybe, escape: Maybe = _ESCAPE) -> Maybe:
    """`a ILIKE pattern`: what is compared is in small letters."""
    if None in (a, pattern, escape):
        return None
    return _pattern(pattern.lower(), escape).fullmatch(a.lower()) is not None


@lru_cache(maxsize=256)
def _pattern(pattern: str, escape: str) -> re.Pattern[str]:
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters, escape)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL)


def like_regex(pattern: str, escape: str = _ESCAPE) -> str | None:
    r"""The regular expression for a pattern of LIKE; None if Spark refuses the pattern.

    >>> like_regex("a_%", "!"), like_regex("a!%", "!"), like_regex("a!b", "!")
    ('(?s)\\Aa..*\\z', '(?s)\\Aa%\\z', None)
    """
    parts, letters = [], iter(pattern)
    for letter in letters:
        if letter == escape:
            escaped = next(letters, "")
            if not escaped or escaped not in ("_", "%", escape):
                return None
            parts.append(re.escape(escaped))
        else:
            parts.append({"_": ".", "%": ".*"}.get(letter) or re.escape(letter))
    return rf"(?s)\A{''.join(parts)}\z"


def arrow_matches(value: Values, *, pattern: str) -> Values:
    """Whether a text matches a regular expression of RE2."""
    return pc.match_substring_regex(value, pattern)


def _like(call: Call) -> Computation | None:
    found = literals(call.arguments[1:])
    regex = like_regex(*found) if found else None
    return None if regex is None else (partial(arrow_matches, pattern=regex), call.arguments[:1])


def _matches(word: str) -> Writing:
    plain = pattern(f"{{0}} {word} {{1}}", PREDICATE)
    escaped = pattern(f"{{0}} {word} {{1}} ESCAPE {{2}}", PREDICATE)
    return Writing(word, lambda call, parts: (plain if len(parts) == 2 else escaped).write(call, parts))


FUNCTIONS = (
    Function("like", (STRING, STRING, STRING), BOOL, like, arrow=_like, fewest=2, written=_matches("LIKE")),
    Function("ilike", (STRING, STRING, STRING), BOOL, ilike, fewest=2, written=_matches("ILIKE")),
)
