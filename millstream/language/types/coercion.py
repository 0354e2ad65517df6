"""How types meet: what kind a type is, and the type that Spark finds for values of several types."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from millstream.catalog.schema import UNKNOWN, SqlType, sql_type, type_name
from millstream.language.types import decimals

BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ = map(
    sql_type,
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
    ],
)
NULL: SqlType = exp.DataType(this=exp.DType.NULL)
DAYS, DAYS_TO_SECONDS, YEARS_TO_MONTHS = map(
    sql_type, ["interval day", "interval day to second", "interval year to month"]
)

_INTEGRAL = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
_FRACTIONAL = (exp.DType.FLOAT, exp.DType.DOUBLE)
_RANK = {dtype: rank for rank, dtype in enumerate((*_INTEGRAL, *_FRACTIONAL))}
_TIMESTAMPS = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPNTZ)
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")

_SPELLINGS = {
    exp.DType.VARCHAR: STRING,
    exp.DType.CHAR: STRING,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
}


def spelt(type_: SqlType) -> SqlType:
    """The one spelling of a type that Spark has under several names, as VARCHAR, which is STRING in a query."""
    return _SPELLINGS.get(type_.this, type_)


def is_unknown(type_: SqlType) -> bool:
    """Whether only Spark can tell."""
    return type_.this is exp.DType.UNKNOWN


def is_null(type_: SqlType) -> bool:
    """Whether it is the type of NULL, which fits every other."""
    return type_.this is exp.DType.NULL


def is_integral(type_: SqlType) -> bool:
    """TINYINT to BIGINT."""
    return type_.this in _INTEGRAL


def is_decimal(type_: SqlType) -> bool:
    """DECIMAL of any precision."""
    return type_.this is exp.DType.DECIMAL


def is_numeric(type_: SqlType) -> bool:
    """Any number."""
    return type_.this in _RANK or is_decimal(type_)


def is_string(type_: SqlType) -> bool:
    """STRING."""
    return type_.this is exp.DType.TEXT


def is_boolean(type_: SqlType) -> bool:
    """BOOLEAN."""
    return type_.this is exp.DType.BOOLEAN


def is_date(type_: SqlType) -> bool:
    """DATE."""
    return type_.this is exp.DType.DATE


def is_timestamp(type_: SqlType) -> bool:
    """TIMESTAMP, with or without a zone."""
    return type_.this in _TIMESTAMPS


def is_interval(type_: SqlType) -> bool:
    """Any INTERVAL."""
    return isinstance(type_.this, exp.Interval) or type_.this is exp.DType.INTERVAL


def is_nested(type_: SqlType) -> bool:
    """ARRAY, MAP or STRUCT."""
    return type_.this in (exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT)


def array_of(element: SqlType) -> SqlType:
    """ARRAY of a type; unknown if the type is."""
    if is_unknown(element) or is_null(element):
        return UNKNOWN
    return exp.DataType(this=exp.DType.ARRAY, expressions=[element.copy()], nested=True)


def map_of(key: SqlType, value: SqlType) -> SqlType:
    """MAP of two types; unknown if one of them is."""
    if any(is_unknown(t) or is_null(t) for t in (key, value)):
        return UNKNOWN
    return exp.DataType(this=exp.DType.MAP, expressions=[key.copy(), value.copy()], nested=True)


def struct_of(fields: Iterable[tuple[str, SqlType]]) -> SqlType:
    """STRUCT with named fields; unknown if the type of one is."""
    named = list(fields)
    if not named or any(is_unknown(t) or is_null(t) for _, t in named):
        return UNKNOWN
    columns = [exp.ColumnDef(this=exp.to_identifier(n), kind=t.copy()) for n, t in named]
    return exp.DataType(this=exp.DType.STRUCT, expressions=columns, nested=True)


def inner(type_: SqlType, dtype: exp.DType, index: int = 0) -> SqlType:
    """The type inside an ARRAY or a MAP; unknown if it is no such type."""
    if type_.this is not dtype or index >= len(type_.expressions):
        return UNKNOWN
    found = type_.expressions[index]
    return spelt(found) if isinstance(found, exp.DataType) else UNKNOWN


def field(type_: SqlType, name: str) -> SqlType:
    """The type of a field of a STRUCT, found without regard to case; unknown if there is none."""
    if type_.this is not exp.DType.STRUCT:
        return UNKNOWN
    found = [e.args.get("kind") for e in type_.expressions if e.name.lower() == name.lower()]
    return spelt(found[0]) if len(found) == 1 and isinstance(found[0], exp.DataType) else UNKNOWN


def units(type_: SqlType) -> tuple[str, str] | None:
    """The first and the last unit of an interval type.

    >>> units(DAYS_TO_SECONDS), units(DAYS)
    (('DAY', 'SECOND'), ('DAY', 'DAY'))
    """
    unit = type_.this.args.get("unit") if isinstance(type_.this, exp.Interval) else None
    if isinstance(unit, exp.IntervalSpan):
        return unit.this.name.upper(), unit.expression.name.upper()
    return (unit.name.upper(), unit.name.upper()) if isinstance(unit, exp.Var) else None


def interval_of(first: str, last: str) -> SqlType:
    """The interval type from one unit to another."""
    return sql_type(f"interval {first}" if first == last else f"interval {first} to {last}")


def is_months(type_: SqlType) -> bool:
    """Whether an interval counts years and months, rather than days and seconds."""
    found = units(type_)
    return found is not None and found[0] in ("YEAR", "MONTH")


def wider_number(left: SqlType, right: SqlType) -> SqlType:
    """The number type that holds both; DECIMAL with FLOAT or DOUBLE makes DOUBLE."""
    if is_decimal(left) or is_decimal(right):
        a, b = decimals.digits(left), decimals.digits(right)
        return decimals.common(a, b) if a and b else DOUBLE
    return left if _RANK[left.this] >= _RANK[right.this] else right


def wider(left: SqlType, right: SqlType, *, texts: bool = True) -> SqlType | None:
    """The type for values of two types, UNKNOWN if it cannot be told, None if there is none.

    With `texts`, a STRING takes in numbers, dates and times, as in CASE and COALESCE.
    """
    if is_unknown(left) or is_unknown(right):
        return UNKNOWN
    if is_null(left) or type_name(left) == type_name(right):
        return right
    if is_null(right):
        return left
    if is_numeric(left) and is_numeric(right):
        return wider_number(left, right)
    for one, other in ((left, right), (right, left)):
        if is_timestamp(one) and is_date(other):
            return one
        if texts and is_string(one) and not is_nested(other):
            return None if is_boolean(other) or is_binary(other) else STRING
    if is_timestamp(left) and is_timestamp(right):
        return TIMESTAMP
    return UNKNOWN if _may_meet(left, right) else None


def is_binary(type_: SqlType) -> bool:
    """Whether it is BINARY."""
    return type_.this is exp.DType.BINARY


def _may_meet(left: SqlType, right: SqlType) -> bool:
    """Pairs which are left to Spark: nested types, intervals, and the types that are not listed here."""
    if is_nested(left) and is_nested(right):
        return left.this is right.this
    if is_interval(left) and is_interval(right):
        return True
    plain = [is_numeric, is_string, is_boolean, is_date, is_timestamp, is_nested, is_interval, is_binary]
    return not all(any(test(t) for test in plain) for t in (left, right))


def widest(types: Iterable[SqlType], *, texts: bool = True) -> SqlType | None:
    """The type for values of many types, as `wider` finds it.

    >>> type_name(widest([INT, decimals.decimal(10, 2), STRING])), widest([BOOLEAN, INT])
    ('STRING', None)
    """
    # Texts go first, as in Spark: they take in what would not meet otherwise, as a number and a date.
    ordered = sorted(types, key=is_string, reverse=True)
    if any(is_unknown(t) for t in ordered):
        return UNKNOWN
    found: SqlType | None = NULL
    for type_ in ordered:
        found = found and wider(found, type_, texts=texts)
    return found


def wider_interval(left: SqlType, right: SqlType) -> SqlType:
    """The interval type of a sum of intervals."""
    a, b = units(left), units(right)
    if a is None or b is None or is_months(left) != is_months(right):
        return UNKNOWN
    spans = [_UNITS.index(u) for u in (*a, *b) if u in _UNITS]
    return interval_of(_UNITS[min(spans)], _UNITS[max(spans)]) if len(spans) == 4 else UNKNOWN
