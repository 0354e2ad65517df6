"""Texts that stand for something else: whether '2024-02-30' is a date, or 'abc' a number."""

from __future__ import annotations

import datetime
import re

from millstream.catalog.schema import SqlType
from millstream.language.types import coercion as c

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*|\s*[+-]?(infinity|inf|nan)\s*", re.IGNORECASE)
_DAY = re.compile(r"\s*([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ].*)?)?)?\s*", re.DOTALL)
_TIME = re.compile(r"\s*T?\d{1,2}:\d{1,2}(:\d{1,2})?.*", re.DOTALL)
_TRUTHS = frozenset(["t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"])
SPECIAL_TIMES = frozenset(["epoch", "now", "today", "tomorrow", "yesterday"])
"""The words that DATE '...' and TIMESTAMP '...' know, and a cast does not."""


def stands_for(text: str, type_: SqlType) -> bool:
    """Whether Spark makes a value of a type out of a text; True where that cannot be told.

    >>> stands_for("2024-02-30", c.DATE), stands_for("2024-02-29 12:00", c.TIMESTAMP), stands_for("abc", c.INT)
    (False, True, False)
    """
    if c.is_numeric(type_):
        return _NUMBER.fullmatch(text) is not None
    if c.is_boolean(type_):
        return text.strip().lower() in _TRUTHS
    if c.is_date(type_):
        return _is_day(text)
    if c.is_timestamp(type_):
        return _is_day(text) or _TIME.fullmatch(text) is not None
    return True


def _is_day(text: str) -> bool:
    match = _DAY.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) if part else 1 for part in match.groups())
    try:
        # Only the calendar matters here, and it repeats: Spark knows more years than datetime does.
        datetime.date(2000 + year % 400, month, day)
    except ValueError:
        return False
    return True
