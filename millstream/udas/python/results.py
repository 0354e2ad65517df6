"""What methods of users return, as columns of the types that they have declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.udas.python.errors import UserCodeError, shown

REFUSED = (pa.ArrowException, TypeError, ValueError, OverflowError)


def to_answers(
    values: Any, outputs: Sequence[tuple[str, pa.DataType]], result: pa.DataType, aggregate: str
) -> pa.Array:
    """A column of answers: values, or lists of rows if there are several columns; an Arrow array of these is kept.

    >>> to_answers([1, None], [("x", pa.float64())], pa.float64(), "f").to_pylist()
    [1.0, None]
    """
    if len(outputs) == 1 or (isinstance(values, pa.Array) and values.type == result):
        return _column(values, result, aggregate)
    rows = [_rows(value, [name for name, _ in outputs], aggregate) for value in _listed(values)]
    flat = [row for group in rows for row in group]
    columns = [_column([row[i] for row in flat], type_, aggregate) for i, (_, type_) in enumerate(outputs)]
    offsets = np.cumsum([0, *(len(group) for group in rows)])
    structs = pa.StructArray.from_arrays(columns, fields=list(result.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)


def _column(values: Any, type_: pa.DataType, aggregate: str) -> pa.Array:
    try:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if isinstance(values, pa.Array):
            return values.cast(type_)
        if isinstance(values, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(values)
            return pa.array(np.where(mask, np.zeros(1, values.dtype), values.data), mask=mask).cast(type_)
        if isinstance(values, np.ndarray) and values.dtype != object:
            return pa.array(values).cast(type_)
        return pa.array(values, type_)
    except REFUSED as problem:
        wrong = next((v for v in _listed(values) if not _fits(v, type_)), None)
        what = f"{shown(wrong)}, which is no {_spoken(type_)}" if wrong is not None else f"{problem}"
        raise UserCodeError(f"aggregate {aggregate}: finish returned {' '.join(what.split())}") from None


def _rows(value: Any, names: Sequence[str], aggregate: str) -> list[tuple[Any, ...]]:
    """The rows of an answer: a list has any number of them, and NULL is none."""
    found = []
    for row in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(row, Mapping) and set(row) == set(names):
            found.append(tuple(row[name] for name in names))
        elif isinstance(row, tuple) and len(row) == len(names):
            found.append(row)
        else:
            wanted = f"a tuple or a dictionary of {', '.join(names)}"
            raise UserCodeError(f"aggregate {aggregate}: finish returned {shown(row)}, which is not {wanted}")
    return found


def _listed(values: Any) -> list[Any]:
    return values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)


def _fits(value: Any, type_: pa.DataType) -> bool:
    try:
        pa.array([value], type_)
    except REFUSED:
        return False
    return True


def _spoken(type_: pa.DataType) -> str:
    return {"double": "DOUBLE", "int64": "BIGINT", "int32": "INT", "bool": "BOOLEAN"}.get(str(type_), str(type_))
