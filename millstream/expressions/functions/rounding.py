"""Numbers rounded: to whole ones, to digits after the point, to tens and hundreds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

from millstream.expressions.functions.casts import to_int
from millstream.expressions.functions.decimals import EXACT, decimal
from millstream.expressions.functions.function import ANY, DECIMAL, DIGITS, SAME, WHOLE, Function, Maybe, Number, Result
from millstream.expressions.functions.whole_numbers import HIGHEST, LOWEST
from millstream.expressions.tree import FLOAT64, INT32, INT64, Call, Literal, Value
from millstream.expressions.written import Text, Writing, called, type_text

_ABOVE = 2.0**63


def _to_long(a: float) -> int:
    return 0 if math.isnan(a) else int(max(min(a, 2**63 - 1), -(2**63)))


def floor(a: Maybe) -> Maybe:
    """The greatest whole number that is not greater."""
    return None if a is None else _to_long(a if math.isinf(a) or math.isnan(a) else math.floor(a))


def kernel_floor(a: Number, a_null: bool) -> Result:
    """The greatest whole number that is not greater."""
    if math.isnan(a):
        return 0, a_null
    if a >= _ABOVE or a <= -_ABOVE:
        return (HIGHEST if a > 0 else LOWEST), a_null
    return math.floor(a), a_null


def ceil(a: Maybe) -> Maybe:
    """The smallest whole number that is not smaller."""
    return None if a is None else _to_long(a if math.isinf(a) or math.isnan(a) else math.ceil(a))


def kernel_ceil(a: Number, a_null: bool) -> Result:
    """The smallest whole number that is not smaller."""
    if math.isnan(a):
        return 0, a_null
    if a >= _ABOVE or a <= -_ABOVE:
        return (HIGHEST if a > 0 else LOWEST), a_null
    return math.ceil(a), a_null


def floor_decimal(a: Maybe) -> Maybe:
    """The greatest whole number that is not greater."""
    return None if a is None else Decimal(math.floor(a))


def ceil_decimal(a: Maybe) -> Maybe:
    """The smallest whole number that is not smaller."""
    return None if a is None else Decimal(math.ceil(a))


def round_float(a: Maybe, digits: Maybe) -> Maybe:
    """To so many digits after the point, halves away from zero.

    >>> round_float(2.5, 0), round_float(-0.125, 2), round_float(1234.0, -2)
    (3.0, -0.13, 1200.0)
    """
    if a is None or digits is None or math.isinf(a) or math.isnan(a):
        return a if digits is not None else None
    if abs(digits) > 400:
        return a + 0.0 if digits > 0 else 0.0
    rounded = Decimal(repr(a)).quantize(Decimal(1).scaleb(-digits), context=Context(900, ROUND_HALF_UP))
    return float(rounded) + 0.0  # decimals have no negative zero


def round_int(a: Maybe, digits: Maybe, bits: int) -> Maybe:
    """A whole number of so many bits to tens, hundreds and so on, for negative digits.

    >>> round_int(155, -1, 32), round_int(127, -1, 8)
    (160, None)
    """
    if a is None or digits is None:
        return None
    if digits >= 0:
        return a
    unit = 10 ** min(-digits, 20)
    rounded = (abs(a) + unit // 2) // unit * unit
    return to_int(-rounded if a < 0 else rounded, bits)


def round_decimal(a: Maybe, digits: Maybe, precision: int, scale: int) -> Maybe:
    """A decimal to so many digits after the point, or to tens and hundreds.

    >>> round_decimal(Decimal("155.5"), -1, 4, 0)
    Decimal('160')
    """
    if a is None or digits is None or digits >= 0:
        return None if digits is None else decimal(a, precision, scale)
    unit = Decimal(1).scaleb(min(-digits, 60))
    return decimal(EXACT.multiply(EXACT.quantize(EXACT.divide(a, unit), Decimal(1)), unit), precision, scale)


def _itself(call: Call) -> Value:
    """What changes nothing but perhaps the type."""
    (argument,) = call.arguments
    return argument if argument.type == call.type else Call("widen", (argument,), call.type, unwritten=True)


def _round(call: Call, parts: Sequence[Text]) -> Text:
    digits = call.arguments[1]
    return called("ROUND").write(call, parts[:1] if isinstance(digits, Literal) and digits.value == 0 else parts)


def _round_whole(call: Call, parts: Sequence[Text]) -> Text:
    """Tens may be more than there is room for, and then wrap around in silence."""
    digits = call.arguments[1]
    if isinstance(digits, Literal) and isinstance(digits.value, int) and digits.value >= 0:
        return _round(call, parts)
    return Text(f"TRY_CAST(ROUND(CAST({parts[0].text} AS DECIMAL(20, 0)), {parts[1].text}) AS {type_text(call.type)})")


_FLOOR, _CEIL = called("FLOOR"), called("CEIL")
_ROUND, _ROUND_WHOLE = Writing("ROUND", _round), Writing("ROUND", _round_whole)

FUNCTIONS = (
    Function("floor", (FLOAT64,), INT64, floor, kernel_floor, written=_FLOOR),
    Function("ceil", (FLOAT64,), INT64, ceil, kernel_ceil, written=_CEIL),
    Function("floor_decimal", (DECIMAL,), DECIMAL, floor_decimal, written=_FLOOR),
    Function("ceil_decimal", (DECIMAL,), DECIMAL, ceil_decimal, written=_CEIL),
    Function("floor_int", (WHOLE,), INT64, written=_FLOOR, means=_itself),
    Function("ceil_int", (WHOLE,), INT64, written=_CEIL, means=_itself),
    Function("positive", (ANY,), SAME, written=called("POSITIVE"), means=_itself),
    Function("round_float", (FLOAT64, INT32), FLOAT64, round_float, written=_ROUND),
    Function("round_decimal", (DECIMAL, INT32, DIGITS, DIGITS), DECIMAL, round_decimal, written=_ROUND),
    Function("round_int", (WHOLE, INT32, DIGITS), SAME, round_int, written=_ROUND, spark=_ROUND_WHOLE),
)
