"""Texts: letters, parts, and what is in them."""

from __future__ import annotations

from millstream.expressions.functions.function import Function, Maybe
from millstream.expressions.tree import BOOL, INT32, STRING

_SPACE = " "


def concat(*parts: Maybe) -> Maybe:
    """Texts joined; NULL if one of them is."""
    return None if any(p is None for p in parts) else "".join(parts)


def concat_ws(separator: Maybe, *parts: Maybe) -> Maybe:
    """Texts joined by another, without those that are NULL."""
    return None if separator is None else separator.join(p for p in parts if p is not None)


def upper(a: Maybe) -> Maybe:
    """In capitals."""
    return None if a is None else a.upper()


def lower(a: Maybe) -> Maybe:
    """In small letters."""
    return None if a is None else a.lower()


def length(a: Maybe) -> Maybe:
    """The number of characters."""
    return None if a is None else len(a)


def substring(a: Maybe, start: Maybe, count: Maybe = 2**31 - 1) -> Maybe:
    """The part from a place, counted from 1, or from the end if it is negative.

    >>> substring("Spark SQL", 5, 1), substring("Spark SQL", -3, 2), substring("ab", -3, 2), substring("ab", 0)
    ('k', 'SQ', 'a', 'ab')
    """
    if a is None or start is None or count is None:
        return None
    begin = start - 1 if start > 0 else len(a) + start if start < 0 else 0
    end = min(begin + count, 2**31 - 1)
    return a[max(begin, 0) : max(end, 0)]


def left(a: Maybe, count: Maybe) -> Maybe:
    """The first characters."""
    return None if a is None or count is None else a[: max(count, 0)]


def right(a: Maybe, count: Maybe) -> Maybe:
    """The last characters."""
    return None if a is None or count is None else a[len(a) - count :] if 0 < count < len(a) else a if count > 0 else ""


def trim(a: Maybe, characters: Maybe = _SPACE) -> Maybe:
    """Without the characters at both ends."""
    return None if a is None or characters is None else a.strip(characters) if characters else a


def ltrim(a: Maybe, characters: Maybe = _SPACE) -> Maybe:
    """Without the characters at the beginning."""
    return None if a is None or characters is None else a.lstrip(characters) if characters else a


def rtrim(a: Maybe, characters: Maybe = _SPACE) -> Maybe:
    """Without the characters at the end."""
    return None if a is None or characters is None else a.rstrip(characters) if characters else a


def replace(a: Maybe, old: Maybe, new: Maybe = "") -> Maybe:
    """With one text in the place of another."""
    if a is None or old is None or new is None:
        return None
    return a.replace(old, new) if old else a


def reverse(a: Maybe) -> Maybe:
    """Backwards."""
    return None if a is None else a[::-1]


def contains(a: Maybe, part: Maybe) -> Maybe:
    """Whether a text is part of another."""
    return None if a is None or part is None else part in a


def startswith(a: Maybe, part: Maybe) -> Maybe:
    """Whether it begins so."""
    return None if a is None or part is None else a.startswith(part)


def endswith(a: Maybe, part: Maybe) -> Maybe:
    """Whether it ends so."""
    return None if a is None or part is None else a.endswith(part)


def instr(a: Maybe, part: Maybe) -> Maybe:
    """The place of a part, counted from 1; 0 if it is not there."""
    return None if a is None or part is None else a.find(part) + 1


FUNCTIONS = (
    Function("concat", (STRING,), STRING, concat, sql=("concat",), many=True),
    Function("concat_ws", (STRING,), STRING, concat_ws, sql=("concat_ws",), many=True, strict=False),
    Function("upper", (STRING,), STRING, upper, sql=("upper", "ucase")),
    Function("lower", (STRING,), STRING, lower, sql=("lower", "lcase")),
    Function("length", (STRING,), INT32, length, sql=("length", "len", "char_length", "character_length")),
    Function("substring", (STRING, INT32, INT32), STRING, substring, sql=("substr", "substring"), fewest=2),
    Function("left", (STRING, INT32), STRING, left, sql=("left",)),
    Function("right", (STRING, INT32), STRING, right, sql=("right",)),
    Function("trim", (STRING, STRING), STRING, trim, sql=("btrim",), fewest=1),
    Function("ltrim", (STRING, STRING), STRING, ltrim, fewest=1),
    Function("rtrim", (STRING, STRING), STRING, rtrim, fewest=1),
    Function("replace", (STRING, STRING, STRING), STRING, replace, sql=("replace",), fewest=2),
    Function("reverse", (STRING,), STRING, reverse, sql=("reverse",)),
    Function("contains", (STRING, STRING), BOOL, contains, sql=("contains",)),
    Function("startswith", (STRING, STRING), BOOL, startswith, sql=("startswith",)),
    Function("endswith", (STRING, STRING), BOOL, endswith, sql=("endswith",)),
    Function("instr", (STRING, STRING), INT32, instr, sql=("instr",)),
)
