"""Numbers and truths read from texts, and written as texts."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation

from millstream.expressions.functions.casts import to_int
from millstream.expressions.functions.decimals import decimal
from millstream.expressions.functions.function import DECIMAL, DIGITS, WHOLE, Function, Maybe
from millstream.expressions.tree import BOOL, FLOAT32, FLOAT64, INT64, STRING

_WHOLE = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_TRUE = frozenset(["t", "true", "y", "yes", "1"])
_FALSE = frozenset(["f", "false", "n", "no", "0"])


def text_to_int(a: Maybe, bits: int) -> Maybe:
    """A text read as a whole number of so many bits."""
    if a is None or not _WHOLE.fullmatch(a.strip()) or len(a) > 64:
        return None
    return to_int(int(a), bits)


def text_to_float(a: Maybe) -> Maybe:
    """A text read as a number."""
    if a is None:
        return None
    text = a.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    found = _SPECIAL.get(text.lstrip("+-").lower())
    return None if found is None else -found if text.startswith("-") else found


def text_to_decimal(a: Maybe, precision: int, scale: int) -> Maybe:
    """A text read as a decimal."""
    if a is None or not _NUMBER.fullmatch(a.strip()):
        return None
    try:
        return decimal(Decimal(a.strip()), precision, scale)
    except InvalidOperation:
        return None


def text_to_bool(a: Maybe) -> Maybe:
    """A text read as a truth."""
    word = None if a is None else a.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def int_text(a: Maybe) -> Maybe:
    """A whole number as it is written."""
    return None if a is None else str(a)


def bool_text(a: Maybe) -> Maybe:
    """A truth as it is written."""
    return None if a is None else "true" if a else "false"


def decimal_text(a: Maybe) -> Maybe:
    """A decimal as it is written."""
    return None if a is None else format(a, "f")


def float_text(a: Maybe) -> Maybe:
    """A binary fraction as Spark writes it.

    >>> float_text(1.5), float_text(1e10), float_text(0.0001), float_text(float("inf"))
    ('1.5', '1.0E10', '1.0E-4', 'Infinity')
    """
    if a is None:
        return None
    if math.isnan(a):
        return "NaN"
    if math.isinf(a):
        return "Infinity" if a > 0 else "-Infinity"
    if a == 0 or 1e-3 <= abs(a) < 1e7:
        return format(Decimal(repr(a)), "f") if "e" in repr(a) else repr(a)
    sign, digits, exponent = Decimal(repr(a)).as_tuple()
    written = "".join(map(str, digits)).rstrip("0")
    return f"{'-' if sign else ''}{written[0]}.{written[1:] or '0'}E{int(exponent) + len(digits) - 1}"


def float32_text(a: Maybe) -> Maybe:
    """A FLOAT as it is written: with no more digits than tell it from others."""
    if a is None or not math.isfinite(a):
        return float_text(a)
    import numpy as np

    return float_text(float(str(np.float32(a))))


FUNCTIONS = (
    Function("text_to_int", (STRING, DIGITS), INT64, text_to_int),
    Function("text_to_float", (STRING,), FLOAT64, text_to_float),
    Function("text_to_decimal", (STRING, DIGITS, DIGITS), DECIMAL, text_to_decimal),
    Function("text_to_bool", (STRING,), BOOL, text_to_bool),
    Function("int_text", (WHOLE,), STRING, int_text),
    Function("bool_text", (BOOL,), STRING, bool_text),
    Function("decimal_text", (DECIMAL,), STRING, decimal_text),
    Function("float_text", (FLOAT64,), STRING, float_text),
    Function("float32_text", (FLOAT32,), STRING, float32_text),
)
