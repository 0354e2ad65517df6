"""Answers that are lists become rows before they cross to Spark, where lists are converted value by value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.catalog.select import AggregateCall


class Nested(NamedTuple):
    """A column of lists, and the columns that the fields of their rows become, in order."""

    name: str
    columns: tuple[str, ...]


def nested_columns(calls: Iterable[AggregateCall]) -> tuple[Nested, ...]:
    """The columns of lists that the answers of some calls are."""
    return tuple(Nested(call.name, tuple(column.name for column in call.columns)) for call in calls)


def unnest(rows: pa.Table, lists: Sequence[Nested]) -> pa.Table:
    """A row for each row in the lists; with several columns of lists, for each combination.

    >>> pairs = pa.array([[{"a": 1, "b": 2}, {"a": 3, "b": 4}], []], pa.list_(pa.struct({"a": "int8", "b": "int8"})))
    >>> unnest(pa.table({"k": ["x", "y"], "pairs": pairs}), [Nested("pairs", ("p", "q"))]).to_pylist()
    [{'k': 'x', 'p': 1, 'q': 2}, {'k': 'x', 'p': 3, 'q': 4}]
    >>> unnest(pa.table({"pairs": pairs}), [Nested("pairs", ("p", "q"))]).num_rows
    2
    """
    for name, columns in lists:
        values = rows[name]
        parts = [chunk.flatten() for chunk in values.chunks]  # not put together: lists may hold a lot
        made = {
            column: pa.chunked_array([part.field(i) for part in parts], values.type.value_type.field(i).type)
            for i, column in enumerate(columns)
        }
        parents = np.repeat(np.arange(rows.num_rows), pc.fill_null(pc.list_value_length(values), 0))
        # Column by column: a table that has no other columns would not know how many rows it has.
        data = {other: rows[other].take(pa.array(parents)) for other in rows.column_names if other != name}
        rows = pa.table({**data, **made})
    return rows


def unnested_schema(schema: pa.Schema, lists: Sequence[Nested]) -> pa.Schema:
    """The columns that such rows have."""
    for name, columns in lists:
        row = schema.field(name).type.value_type
        schema = schema.remove(schema.get_field_index(name))
        for i, column in enumerate(columns):
            schema = schema.append(row.field(i).with_name(column))
    return schema
