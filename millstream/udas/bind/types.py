"""The types that values have when a body runs."""

from __future__ import annotations

from millstream.catalog.schema import SqlType
from millstream.expressions.build.types import tree_type
from millstream.expressions.tree import TIMESTAMP, TIMESTAMP_NTZ, Type

_COMPUTED = {
    *("bool", "int8", "int16", "int32", "int64", "float32", "float64", "decimal"),
    *("string", "date", "timestamp", "interval", "months", "null"),
}


def run_type(type_: SqlType) -> Type | None:
    """The type at run time, None for types that bodies cannot compute with; time stamps have one type, in UTC.

    >>> from millstream.catalog.schema import sql_type
    >>> [str(run_type(sql_type(name))) for name in ("decimal(10, 2)", "timestamp_ntz", "array<int>")]
    ['decimal(10, 2)', 'timestamp', 'None']
    """
    found = tree_type(type_)
    if found == TIMESTAMP_NTZ:
        return TIMESTAMP
    return found if found is not None and found.name in _COMPUTED else None
