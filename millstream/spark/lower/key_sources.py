"""The columns of a stream that keys are: punctuation in the data names groups by them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow.types as pt

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import SqlType, type_name
from millstream.expressions.tree import Column, Value
from millstream.plan.algebra import Node
from millstream.plan.column_origins import trace
from millstream.plan.scans import Scan


def key_sources(part: Node, keys: Iterable[tuple[str, Value, SqlType]]) -> dict[str, str]:
    """Of keys, each with its type, those that are plain columns of a stream, and these.

    A promise for one value of a column is one for one key only if different values are different keys.
    """
    found = {}
    for name, expression, type_ in keys:
        origin = trace(part, expression.name) if isinstance(expression, Column) else None
        if origin and isinstance(origin[0], Scan):
            column = origin[0].stream.schema.find(origin[1])
            if column is not None and _keeps_apart(column.type, type_):
                found[name] = column.name.lower()
    return found


def _keeps_apart(type_: SqlType, wider: SqlType) -> bool:
    """Whether values of a type stay different when they are cast to a wider one.

    >>> from millstream.catalog.schema import sql_type
    >>> _keeps_apart(sql_type("int"), sql_type("bigint")), _keeps_apart(sql_type("bigint"), sql_type("double"))
    (True, False)
    """
    if type_name(type_) == type_name(wider):
        return True
    one, other = to_arrow(type_), to_arrow(wider)
    if one is None or other is None:
        return False
    return bool(
        one == other or (pt.is_integer(one) and pt.is_integer(other)) or (pt.is_floating(one) and pt.is_floating(other))
    )
