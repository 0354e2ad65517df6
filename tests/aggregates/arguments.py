"""The types of arguments that aggregates take, found by asking them."""

from __future__ import annotations

import pyarrow as pa

from millstream.aggregates.contract import Aggregate

KINDS = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.decimal128(9, 2), pa.decimal128(18, 4), pa.decimal128(38, 6)),
    *(pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC")),
)
CONSTANTS = {"quantile": (pa.float64(), 0.3), "string_agg": (pa.string(), "-")}


def bindings(cls: type[Aggregate]) -> list[tuple[pa.DataType, ...]]:
    """All argument types that an aggregate takes."""
    if cls.arity == 0:
        return [()]
    found = []
    for kind in KINDS:
        if cls.arity == 1:
            candidates: list[tuple[pa.DataType, ...]] = [(kind,)]
        elif cls.name in CONSTANTS:
            candidates = [(kind, CONSTANTS[cls.name][0])]
        else:
            candidates = [(kind, pa.float64()), (kind, kind), (pa.string(), kind)]
        for candidate in candidates:
            try:
                cls(candidate)
            except TypeError:
                continue
            found.append(candidate)
    return found
