"""Which values can be put into a column as they are: those that no column of its type would change."""

from __future__ import annotations

from sqlglot import exp

from millstream.catalog.schema import SqlType, type_name
from millstream.expressions.tree import Literal, Value
from millstream.language.types import coercion as c
from millstream.language.types import decimals

DECIMAL = "decimal"
_BITS = {exp.DType.TINYINT: 7, exp.DType.SMALLINT: 15, exp.DType.INT: 31, exp.DType.BIGINT: 63}
_EXACT = {exp.DType.FLOAT: 24, exp.DType.DOUBLE: 53}
"""How large whole numbers are, and up to where floating-point numbers hold all of them."""


def fits(value: Value, given: SqlType, wanted: SqlType) -> bool:
    """Whether a value of one type can be put into a column of another, and is there what it was.

    >>> from millstream.catalog.schema import sql_type
    >>> from millstream.expressions.tree import INT32, UNKNOWN, Column
    >>> number = Literal(300, INT32, "300")
    >>> [fits(number, c.INT, sql_type(t)) for t in ("tinyint", "smallint", "bigint", "double", "decimal(2, 0)")]
    [False, True, True, True, False]
    >>> fits(Column("x", UNKNOWN), c.BIGINT, c.DOUBLE), fits(Column("x", UNKNOWN), c.INT, c.DOUBLE)
    (False, True)
    """
    given, wanted = c.spelt(given), c.spelt(wanted)
    if c.is_null(given) or type_name(given) == type_name(wanted):
        return True
    if c.is_unknown(given):
        return False
    if c.is_numeric(given) and c.is_numeric(wanted):
        written = _written(value)
        return _number_fits(given, wanted) if written is None else _literal_fits(written, wanted)
    return c.is_date(given) and c.is_timestamp(wanted)


def _number_fits(given: SqlType, wanted: SqlType) -> bool:
    if wanted.this in _EXACT:
        if c.is_decimal(given):
            return False
        return given.this is exp.DType.FLOAT or _BITS.get(given.this, 99) <= _EXACT[wanted.this]
    if c.is_decimal(wanted):
        a, b = decimals.digits(given), decimals.digits(wanted)
        return a is not None and b is not None and a[1] <= b[1] and a[0] - a[1] <= b[0] - b[1]
    return c.is_integral(given) and _BITS[given.this] <= _BITS[wanted.this]


def _written(value: Value) -> str | None:
    """The digits of a number that is written out, with its sign; None if it is none."""
    is_number = isinstance(value, Literal) and (
        value.type.is_whole or value.type.is_float or value.type.name == DECIMAL
    )
    return value.text if isinstance(value, Literal) and is_number else None


def _literal_fits(number: str, wanted: SqlType) -> bool:
    if wanted.this in _EXACT:  # whoever writes 0.1 means the nearest that there is
        return True
    whole, _, part = number.lstrip("-").partition(".")
    if (not whole.isdigit() and whole) or (part and not part.isdigit()):  # 1e3
        return False
    if c.is_decimal(wanted):
        size = decimals.digits(wanted)
        return size is not None and len(part) <= size[1] and len(whole.lstrip("0")) <= size[0] - size[1]
    value = int(f"{'-' if number.startswith('-') else ''}{whole or 0}")
    return not part and -(2 ** _BITS[wanted.this]) <= value < 2 ** _BITS[wanted.this]
