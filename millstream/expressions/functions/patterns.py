"""LIKE and ILIKE."""

from __future__ import annotations

import re
from functools import lru_cache

from millstream.expressions.functions.function import Function, Maybe
from millstream.expressions.tree import BOOL, STRING


def like(a: Maybe, pattern: Maybe) -> Maybe:
    r"""`a LIKE pattern`.

    >>> like("a.c", "a.%"), like("abc", "a.%"), like("10%", "10\\%"), like(None, "%")
    (True, False, True, None)
    """
    return None if a is None or pattern is None else _pattern(pattern).fullmatch(a) is not None


def ilike(a: Maybe, pattern: Maybe) -> Maybe:
    """`a ILIKE pattern`: what is compared is in small letters."""
    return None if a is None or pattern is None else _pattern(pattern.lower()).fullmatch(a.lower()) is not None


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            parts.append(re.escape(next(characters, "\\")))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL)


FUNCTIONS = (
    Function("like", (STRING, STRING), BOOL, like),
    Function("ilike", (STRING, STRING), BOOL, ilike),
)
