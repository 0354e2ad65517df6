"""Values of tables for Python: times out of its range become text."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.catalog.far_times import day_text, moment_text


def values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column.

    >>> values(pa.array([0, 2**31 - 1, None], pa.int32()).cast(pa.date32()))
    [datetime.date(1970, 1, 1), '+5881580-07-11', None]
    """
    try:
        found: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        found = [_convert_far(value) for value in array]
    return found


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table, each by the names of its columns."""
    columns = [values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def frame(table: pa.Table) -> pd.DataFrame:
    """The table for pandas; where a date is of a year that Python does not have, dates are numpy's."""
    try:
        made: pd.DataFrame = table.to_pandas()
    except (OverflowError, ValueError):
        made = pd.DataFrame({name: _series(table[name]) for name in table.column_names})
    return made


def _series(column: pa.ChunkedArray) -> pd.Series:
    if pt.is_nested(column.type):
        return pd.Series(values(column), dtype=object)
    made: pd.Series = column.to_pandas(date_as_object=False)
    return made


def _convert_far(value: pa.Scalar) -> Any:
    """One value, with what is too far away in it as text."""
    if not value.is_valid:
        return None
    type_ = value.type
    if pt.is_struct(type_):
        return {name: _convert_far(value[name]) for name in (field.name for field in type_)}
    if pt.is_map(type_):
        return [(_convert_far(entry["key"]), _convert_far(entry["value"])) for entry in value.values]
    if pt.is_nested(type_):
        return [_convert_far(item) for item in value.values]
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        if pt.is_date(type_):
            return day_text(value.cast(pa.date32()).cast(pa.int32()).as_py())
        micros = pc.cast(value, pa.timestamp("us", type_.tz)).cast(pa.int64())
        return moment_text(micros.as_py())
