"""The types of the language and those that values have at run time."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.catalog.schema import UNKNOWN, SqlType, sql_type, type_name
from millstream.expressions.tree import (
    BOOL,
    CALENDAR,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    INTERVAL,
    MONTHS,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
)
from millstream.expressions.written import type_text
from millstream.language.types import coercion as c
from millstream.language.types import decimals

_PLAIN = {
    exp.DType.BOOLEAN: BOOL,
    exp.DType.TINYINT: INT8,
    exp.DType.SMALLINT: INT16,
    exp.DType.INT: INT32,
    exp.DType.BIGINT: INT64,
    exp.DType.FLOAT: FLOAT32,
    exp.DType.DOUBLE: FLOAT64,
    exp.DType.TEXT: STRING,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    exp.DType.NULL: NULL,
}
_WHOLE_DIGITS = {"int8": 3, "int16": 5, "int32": 10, "int64": 20}


def tree_type(type_: SqlType) -> Type | None:
    """The type of values in trees, None where only Spark can tell.

    >>> from millstream.catalog.schema import sql_type
    >>> [str(tree_type(sql_type(name))) for name in ("decimal(10, 2)", "timestamp", "array<int>", "map<int, int>")]
    ['decimal(10, 2)', 'timestamp', 'array(int32)', 'map(int32, int32)']
    """
    plain = c.spelt(type_)
    if plain.this in _PLAIN:
        return _PLAIN[plain.this]
    if c.is_interval(plain):
        units = c.units(plain)
        return replace(MONTHS if c.is_months(plain) else INTERVAL, units=tuple(units)) if units else CALENDAR
    digits = decimals.digits(plain)
    if c.is_decimal(plain):
        return Type("decimal", *digits) if digits else None
    if c.is_nested(plain):
        return _nested(plain)
    return None if c.is_unknown(plain) else Type(type_name(plain).lower())


def _nested(type_: SqlType) -> Type | None:
    if type_.this is exp.DType.STRUCT:
        fields = [(f.name, tree_type(f.args["kind"])) for f in type_.expressions if isinstance(f, exp.ColumnDef)]
        known = tuple((name, inner) for name, inner in fields if inner is not None)
        return Type("struct", fields=known) if known and len(known) == len(type_.expressions) else None
    inner = [tree_type(part) for part in type_.expressions]
    match type_.this, inner:
        case exp.DType.ARRAY, [Type() as element]:
            return Type("array", element=element)
        case exp.DType.MAP, [Type() as key, Type() as element]:
            return Type("map", element=element, key=key)
    return None


def sql_type_for(type_: Type) -> SqlType:
    """The type of the language that values of a tree have."""
    return c.NULL if type_ == NULL else UNKNOWN if type_.name == "unknown" else sql_type(type_text(type_))


def sql_type_of(node: exp.Expr) -> SqlType:
    """The type that a part knows it has; that of NULL if it knows none."""
    return node.type if isinstance(node.type, exp.DataType) else c.NULL


def as_decimal(type_: Type) -> Type | None:
    """The decimal that a whole number becomes beside a decimal, or the decimal that it is."""
    if type_.name == "decimal":
        return type_
    return Type("decimal", _WHOLE_DIGITS[type_.name], 0) if type_.is_whole else None


def meeting(left: exp.Expr, right: exp.Expr) -> SqlType | None:
    """The type in which two values are compared: a text gives way to everything else; None if there is none."""
    one, other = sql_type_of(left), sql_type_of(right)
    if c.is_string(one) != c.is_string(other):
        found = other if c.is_string(one) else one
        return c.STRING if c.is_null(found) else found
    for side, against in ((left, other), (right, one)):
        literal, digits = side.this if isinstance(side, exp.Neg) else side, decimals.digits(against)
        whole = c.is_integral(sql_type_of(side)) and isinstance(literal, exp.Literal)
        if c.is_decimal(against) and digits and whole:
            # A whole number that is written out needs only the digits it has.
            return decimals.common((len(literal.name.lstrip("0")) or 1, 0), digits)
    found_type = c.wider(one, other, texts=False)
    return None if found_type is None or c.is_unknown(found_type) else found_type
