"""Numbers and truths read from texts, and written as texts."""

from __future__ import annotations

import math
import re
from ctypes import c_float
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from millstream.expressions.functions.casts import convert, to_int
from millstream.expressions.functions.decimals import decimal
from millstream.expressions.functions.function import DECIMAL, DIGITS, WHOLE, Function, Maybe, sized
from millstream.expressions.tree import BOOL, FLOAT32, FLOAT64, INT64, STRING
from millstream.expressions.written import CAST, TRY_CAST

BLANKS = "".join(map(chr, range(33))) + "\x7f"
"""What Spark leaves out at both ends of a text: blanks and control characters of ASCII."""

_JAVA_BLANKS = BLANKS[:-1]
"""The same for numbers with a fraction, which Java reads."""

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_DIGITS = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)  # of any alphabet, as in Java
_HEXADECIMAL = re.compile(r"[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+", re.IGNORECASE)
_SPECIAL = {
    **dict.fromkeys(["inf", "+inf", "infinity", "+infinity"], math.inf),
    **dict.fromkeys(["-inf", "-infinity"], -math.inf),
    "nan": math.nan,
}
_TRUE = frozenset(["t", "true", "y", "yes", "1"])
_FALSE = frozenset(["f", "false", "n", "no", "0"])


def text_to_int(a: Maybe, bits: int) -> Maybe:
    """A text read as a whole number of so many bits."""
    text = None if a is None else a.strip(BLANKS)
    if text is None or not _WHOLE.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    return None if len(digits) > 19 else to_int(-int(digits) if text[0] == "-" else int(digits), bits)


def text_to_float(a: Maybe) -> Maybe:
    """A text read as a number, as Java reads it.

    >>> text_to_float(" 1.5e3f"), text_to_float("-Infinity"), text_to_float("1,5")
    (1500.0, -inf, None)
    """
    number = None if a is None else _number(a)
    if number is None:
        return None if a is None else _special(a)
    return float.fromhex(number) if "x" in number else float(number)


def text_to_float32(a: Maybe) -> Maybe:
    """A text read as a FLOAT: the nearest one, which is not always nearest to the nearest DOUBLE.

    >>> text_to_float32("1.00000017881393432617187499"), text_to_float32("1.00000017881393432617187500")
    (1.0000001192092896, 1.000000238418579)
    """
    wide = text_to_float(a)
    if wide is None or not math.isfinite(wide):
        return wide
    found = c_float(wide).value
    number = _number(a)
    if found == wide or number is None or "x" in number:
        return found
    # The number lies at a middle between two: what was cut off decides.
    other = c_float(wide + (wide - found)).value
    if not math.isfinite(found) or Fraction(wide) * 2 != Fraction(found) + Fraction(other):
        return found
    exact = Fraction(Decimal(number))
    if exact == Fraction(wide):
        return found
    return max(found, other) if exact > Fraction(wide) else min(found, other)


def _number(text: str) -> str | None:
    """The number that a text is, without what Java lets stand around it; None if it is none."""
    found = text.strip(_JAVA_BLANKS)
    found = found[:-1] if found[-1:] in {"d", "D", "f", "F"} and "x" not in found.lower() else found
    if "x" in found.lower():
        found = found[:-1] if found[-1:] in {"d", "D", "f", "F"} and "p" in found.lower() else found
        return found.lower() if _HEXADECIMAL.fullmatch(found) else None
    return found if _NUMBER.fullmatch(found) else None


def _special(text: str) -> float | None:
    plain = text.strip(_JAVA_BLANKS)
    if plain in {"+NaN", "-NaN"}:
        return math.nan
    return _SPECIAL.get(plain.lower())


def text_to_decimal(a: Maybe, precision: int, scale: int) -> Maybe:
    """A text read as a decimal."""
    text = None if a is None else a.strip(_JAVA_BLANKS)
    if text is None or not _DIGITS.fullmatch(text):
        return None
    try:
        return decimal(Decimal(text), precision, scale)
    except InvalidOperation:
        return None


def text_to_bool(a: Maybe) -> Maybe:
    """A text read as a truth."""
    word = None if a is None else a.strip(BLANKS).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def int_text(a: Maybe) -> Maybe:
    """A whole number as it is written."""
    return None if a is None else str(a)


def bool_text(a: Maybe) -> Maybe:
    """A truth as it is written."""
    return None if a is None else "true" if a else "false"


def decimal_text(a: Maybe) -> Maybe:
    """A decimal as CAST writes it."""
    return None if a is None else format(a, "f")


def short_decimal_text(a: Maybe) -> Maybe:
    """A decimal as it becomes a text by itself: as Java writes it, very small ones with an exponent.

    >>> short_decimal_text(Decimal("1.50")), short_decimal_text(Decimal("0.00000012"))
    ('1.50', '1.2E-7')
    """
    return None if a is None else str(a)


def float_text(a: Maybe) -> Maybe:
    """A DOUBLE as it is written: with no more digits than tell it from others, but two at least.

    >>> float_text(1.5), float_text(1e10), float_text(0.0001), float_text(float("inf")), float_text(5e-324)
    ('1.5', '1.0E10', '1.0E-4', 'Infinity', '4.9E-324')
    """
    if a is None or math.isnan(a) or math.isinf(a):
        return None if a is None else "NaN" if math.isnan(a) else "Infinity" if a > 0 else "-Infinity"
    two = f"{a:.1e}"
    return _written(two if float(two) == a else repr(a))


def float32_text(a: Maybe) -> Maybe:
    """A FLOAT as it is written.

    >>> float32_text(0.10000000149011612), float32_text(1.401298464324817e-45)
    ('0.1', '1.4E-45')
    """
    if a is None or not math.isfinite(a):
        return float_text(a)
    import numpy as np

    two = f"{a:.1e}"
    return _written(two if c_float(float(two)).value == a else str(np.float32(a)))


def _written(text: str) -> str:
    """A number of Python as Java writes it."""
    number = Decimal(text)
    sign, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits)).rstrip("0") or "0"
    place = int(exponent) + len(digits) - 1  # of the first digit
    if not number:
        plain = "0.0"
    elif place >= 7 or place < -3:
        plain = f"{written[0]}.{written[1:] or '0'}E{place}"
    elif place < 0:
        plain = f"0.{'0' * (-place - 1)}{written}"
    else:
        written = written.ljust(place + 1, "0")
        plain = f"{written[: place + 1]}.{written[place + 1 :] or '0'}"
    return f"-{plain}" if sign else plain


FUNCTIONS = (
    Function("text_to_int", (STRING, DIGITS), INT64, text_to_int, written=CAST, spark=TRY_CAST),
    Function("text_to_float", (STRING,), FLOAT64, text_to_float, written=CAST, spark=TRY_CAST),
    Function("text_to_float32", (STRING,), FLOAT32, text_to_float32, written=CAST, spark=TRY_CAST),
    Function("text_to_decimal", (STRING, DIGITS, DIGITS), DECIMAL, text_to_decimal, written=CAST, spark=TRY_CAST),
    Function("text_to_bool", (STRING,), BOOL, text_to_bool, written=CAST, spark=TRY_CAST),
    Function("int_text", (WHOLE,), STRING, int_text, arrow=sized(convert, 1), written=CAST, spark=TRY_CAST),
    Function("bool_text", (BOOL,), STRING, bool_text, written=CAST, spark=TRY_CAST),
    Function("decimal_text", (DECIMAL,), STRING, decimal_text, written=CAST, spark=TRY_CAST),
    Function("short_decimal_text", (DECIMAL,), STRING, short_decimal_text, written=CAST, spark=TRY_CAST),
    Function("float_text", (FLOAT64,), STRING, float_text, written=CAST, spark=TRY_CAST),
    Function("float32_text", (FLOAT32,), STRING, float32_text, written=CAST, spark=TRY_CAST),
)
