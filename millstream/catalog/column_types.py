"""The types of columns, and further types of expressions."""

from __future__ import annotations

from sqlglot import exp

from millstream.catalog.schema import SqlType, type_name

MAX_PRECISION = 38

COLUMN_TYPES = {
    *(exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.FLOAT, exp.DType.DOUBLE),
    *(exp.DType.DECIMAL, exp.DType.TEXT, exp.DType.CHAR, exp.DType.VARCHAR, exp.DType.BOOLEAN, exp.DType.BINARY),
    *(exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ),
    *(exp.DType.DATETIME, exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT),
}
"""What a column of a stream or a table can have."""

_OTHERS = {exp.DType.VARIANT, exp.DType.INTERVAL}
_INNER = {exp.DType.ARRAY: 1, exp.DType.MAP: 2}


def type_mistake(type_: SqlType) -> tuple[str, str] | None:
    """What is wrong with a type, and what to write instead; nothing of those inside of it.

    >>> from millstream.catalog.schema import sql_type
    >>> type_mistake(sql_type("decimal(50, 2)"))
    ('DECIMAL(50, 2) has more digits than 38', 'write DECIMAL(38, 2)')
    >>> type_mistake(sql_type("decimal(wide, 2)"))
    ('the size of DECIMAL(WIDE, 2) is not a whole number', 'write sizes as numbers: DECIMAL(10, 2)')
    >>> type_mistake(sql_type("map<string, int>")), type_mistake(sql_type("interval day to second"))
    (None, None)
    """
    kind, written = type_.this, [size.name for size in type_.expressions if isinstance(size, exp.DataTypeParam)]
    if not isinstance(kind, exp.Interval) and kind not in COLUMN_TYPES | _OTHERS:
        return f"{getattr(kind, 'value', kind)} is not a type here", "docs/language.md lists the types"
    if kind in _INNER and len(type_.expressions) != _INNER[kind]:
        return f"{type_name(type_)} does not say what is in it", "write ARRAY<INT>, or MAP<STRING, INT>"
    if not all(size.isdecimal() for size in written):
        return f"the size of {type_name(type_)} is not a whole number", "write sizes as numbers: DECIMAL(10, 2)"
    sizes = [int(size) for size in written]
    if kind is exp.DType.DECIMAL and sizes:
        scale = sizes[1] if len(sizes) > 1 else 0
        if sizes[0] > MAX_PRECISION:
            return f"{type_name(type_)} has more digits than 38", f"write DECIMAL(38, {min(scale, 38)})"
        if scale > sizes[0]:
            what = f"{type_name(type_)} has more digits after the point than in all"
            return what, f"write DECIMAL({scale}, {scale})"
    return None
