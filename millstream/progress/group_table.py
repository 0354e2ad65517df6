"""Promises to groups as a mapping, and as the table in which they travel and are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

Group = tuple[tuple[str, Any], ...]
"""Key columns and the values that they have in a group, by name."""

NAMED = "__named"
"""The key columns that name the group of a promise; the others of its row mean nothing."""

UNTIL = "__until"
"""The time before which no more tuples of the group come."""


def group_of(pairs: Iterable[tuple[str, Any]]) -> Group:
    """A group such that equal ones are equal in Python too: NaN is one value here.

    >>> group_of([("k", float("nan")), ("a", 1)]) == group_of([("a", 1), ("k", float("nan"))])
    True
    """
    return tuple(sorted(((name, _plain(value)) for name, value in pairs), key=lambda pair: pair[0]))


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; dates and times that Python does not know are the numbers that they are.

    >>> _values(pa.chunked_array([pa.array([0, 2**60], pa.timestamp("us"))]))
    [datetime.datetime(1970, 1, 1, 0, 0), 1152921504606846976]
    """
    try:
        found: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        found = [_value(value) for value in column]
    return found


def _value(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.cast(pa.int32() if pt.is_date32(value.type) else pa.int64()).as_py()


def _plain(value: Any) -> Any:
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def by_names(until: Mapping[Group, int]) -> dict[tuple[str, ...], dict[Group, int]]:
    """The promises by the columns that name their groups.

    >>> sorted(by_names({(("a", 1),): 5, (("a", 2),): 6, (("a", 1), ("b", 1)): 7}))
    [('a',), ('a', 'b')]
    """
    found: dict[tuple[str, ...], dict[Group, int]] = {}
    for group, time in until.items():
        found.setdefault(tuple(name for name, _ in group), {})[group] = time
    return found


def to_table(until: Mapping[Group, int], types: Mapping[str, pa.DataType]) -> pa.Table:
    """A row for each promise, with a column for each key."""
    rows = [dict(group) for group in until]
    data = {name: pa.array([row.get(name) for row in rows], type_) for name, type_ in types.items()}
    data[NAMED] = pa.array([list(row) for row in rows], pa.list_(pa.string()))
    data[UNTIL] = pa.array(list(until.values()), pa.int64())
    return pa.table(data)


def from_table(table: pa.Table) -> dict[Group, int]:
    """The promises of a table; of several to one group the furthest.

    >>> from_table(to_table({(("a", 1),): 5}, {"a": pa.int64(), "b": pa.string()}))
    {(('a', 1),): 5}
    """
    found: dict[Group, int] = {}
    columns = [_values(column) for column in table.columns]
    for values in zip(*columns, strict=True):
        row = dict(zip(table.column_names, values, strict=True))
        group = group_of((name, row[name]) for name in row[NAMED])
        found[group] = max(row[UNTIL], found.get(group, row[UNTIL]))
    return found
