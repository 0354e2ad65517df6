"""Patterns of dates, times and numbers that are written out in a call: those that Spark refuses when the query runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from millstream.catalog.schema import SqlType
from millstream.language.types import coercion as c

_PRINTING = frozenset(["date_format", "from_unixtime", "to_char", "to_varchar"])
_READING = frozenset(
    [
        *("to_date", "to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz", "to_unix_timestamp", "try_to_date"),
        *("try_to_timestamp", "unix_timestamp"),
    ]
)
_NUMBERS = frozenset(["to_char", "to_varchar", "to_number", "try_to_number"])
_LONGEST = {
    **dict.fromkeys("GEQqML", 4),
    **dict.fromkeys("dhHkKms", 2),
    **dict.fromkeys("aF", 1),
    **dict.fromkeys("xXZ", 5),
    "y": 6,
    "D": 3,
    "S": 9,
    "V": 2,
    "z": 4,
    "O": 4,
}
"""The letters of a pattern, and how often each may stand in a row."""
_ONLY_PRINTED = frozenset("EFqQ")
_INSTEAD = {"Y": "y for the year", "D": "d for the day of the month", "T": "'T' in quotes, as in yyyy-MM-dd''T''HH:mm"}
_PARTS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[{}#']")
_DIGITS = re.compile(r"(MI|S)?[$L]?(?:[09GL$,]*)(?:[.D][09]*)?\$?(PR|MI|S)?", re.IGNORECASE)
_BINARY = frozenset(["base64", "hex", "utf-8"])
_DATE_UNITS = "year yyyy yy quarter month mm mon week"
_FIELDS = (
    "year y years yr yrs yearofweek quarter qtr month mon mons months week w weeks day d days dayofweek dow "
    "dayofweek_iso dow_iso doy hour h hours hr hrs minute m min mins minutes second s sec seconds secs"
)
_DAYS = "mo mon monday tu tue tuesday we wed wednesday th thu thursday fr fri friday sa sat saturday su sun sunday"
_CHARSETS = "utf-8 us-ascii iso-8859-1 utf-16 utf-16be utf-16le utf-32"
_WORDS = {
    "trunc": (1, "unit of dates", _DATE_UNITS),
    "date_trunc": (0, "unit of time", f"{_DATE_UNITS} day dd hour minute second millisecond microsecond"),
    "next_day": (1, "day of the week", _DAYS),
    "extract": (0, "part of a time", _FIELDS),
    "date_part": (0, "part of a time", _FIELDS),
    "datepart": (0, "part of a time", _FIELDS),
    "encode": (1, "set of characters", _CHARSETS),
    "decode": (1, "set of characters", _CHARSETS),
    "to_binary": (1, "form of bytes", "utf-8 utf8 hex base64"),
    "try_to_binary": (1, "form of bytes", "utf-8 utf8 hex base64"),
}
"""Which argument of a function is a word, what it is, and the words: with others it gives NULL, or fails."""
_EXAMPLE = "as in 'yyyy-MM-dd HH:mm:ss'"


def word_mistake(name: str, arguments: Sequence[exp.Expr]) -> tuple[exp.Expr, str, str] | None:
    """The word in a call that the function does not know, what is wrong with it, and what to write instead.

    >>> word_mistake("date_trunc", [exp.Literal.string("fortnight"), exp.column("ts")])[1:]
    ("'fortnight' is no unit of time", 'date_trunc knows year, quarter, month, week, day, hour and others')
    """
    if name not in _WORDS or len(arguments) != 2:
        return None
    place, what, known = _WORDS[name]
    node = arguments[place]
    if not isinstance(node, exp.Var) and not (isinstance(node, exp.Literal) and node.is_string):
        return None
    if node.name.lower() in known.split():
        return None
    shown = [word for word in _TYPICAL if word in known.split()] or known.split()
    return node, f"'{node.name}' is no {what}", f"{name} knows {', '.join(shown[:6])} and others"


_TYPICAL = ("year", "quarter", "month", "week", "day", "hour", "monday", "tuesday")


def format_mistake(name: str, arguments: Sequence[exp.Expr]) -> tuple[str, str] | None:
    """What is wrong with the pattern in a call, and what to write instead; None if it is right, or no constant.

    >>> def of(name, pattern):
    ...     return format_mistake(name, [exp.column("x"), exp.Literal.string(pattern)])
    >>> of("date_format", "YYYY-MM-DD")
    ("the pattern 'YYYY-MM-DD' has a Y, which stands for no part of a time here", 'write y for the year')
    >>> of("to_date", "yyyy-MM-dd") is None, of("date_format", "dd. MMMM 'of' yyyy") is None
    (True, True)
    >>> of("to_date", "EEEE")[0], of("to_number", "12#")[0]
    ("the pattern 'EEEE' has an E, which can be printed, and not read", "'12#' is no pattern of a number")
    """
    if len(arguments) != 2 or not isinstance(arguments[1], exp.Literal) or not arguments[1].is_string:
        return None
    pattern, type_ = arguments[1].name, arguments[0].type
    known = type_ if isinstance(type_, exp.DataType) else None
    if name in _NUMBERS and (name not in _PRINTING or (known is not None and c.is_numeric(known))):
        right = _DIGITS.fullmatch(pattern) and re.search("[09]", pattern)
        return None if right else (f"'{pattern}' is no pattern of a number", "as in '999.99', 'S9,990' or '$0.00'")
    if name in {"to_char", "to_varchar"} and not _is_time(known):
        binary = known is not None and known.this is exp.DType.BINARY and pattern.lower() not in _BINARY
        return (f"'{pattern}' is no form of bytes", "it is 'base64', 'hex' or 'utf-8'") if binary else None
    return _of_time(pattern, reading=name in _READING) if name in _PRINTING | _READING else None


def _is_time(type_: SqlType | None) -> bool:
    return type_ is not None and (c.is_date(type_) or c.is_timestamp(type_))


def _of_time(pattern: str, reading: bool) -> tuple[str, str] | None:
    """What is wrong with a pattern of a date or a time."""
    for part in _PARTS.finditer(pattern):
        run, letter = part[0], part[1]
        if run == "'":
            return f"the pattern '{pattern}' has a quote that does not end", _EXAMPLE
        if run in "{}#":
            return f"the pattern '{pattern}' has a {run}, which has no meaning in it", _EXAMPLE
        if letter is None:
            continue
        article = "an" if letter in "AEFHILMNORSX" else "a"
        if letter not in _LONGEST:
            what = f"the pattern '{pattern}' has {article} {letter}, which stands for no part of a time here"
            return what, f"write {_INSTEAD[letter]}" if letter in _INSTEAD else _EXAMPLE
        if reading and letter in _ONLY_PRINTED:
            return f"the pattern '{pattern}' has {article} {letter}, which can be printed, and not read", _EXAMPLE
        wrong = (
            len(run) > _LONGEST[letter] or (letter == "V" and len(run) != 2) or (letter == "O" and len(run) in {2, 3})
        )
        if wrong:
            hint = f"write {_INSTEAD[letter]}" if letter == "D" else _EXAMPLE
            return f"the pattern '{pattern}' has '{run}', and {letter} does not stand so often in a row", hint
    return None
