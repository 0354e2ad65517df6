"""Dates and timestamps in Arrow arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.expressions.arrow.numbers import add
from millstream.expressions.arrow.values import BITS_64, Values, as_numpy, valid_only

_DAY = 86_400_000_000


def shift(value: Values, by: int) -> Values:
    """A date moved by days, or a timestamp moved by microseconds."""
    width = pa.int32() if pt.is_date32(value.type) else BITS_64
    return add(value.cast(width), pa.scalar(by, width)).cast(value.type)


def since_1970(value: Values, unit: int) -> Values:
    """How many whole units, each so many microseconds, a timestamp is after the beginning of 1970.

    >>> since_1970(pa.array([-1, 1_999_999], pa.timestamp("us", "UTC")), 1_000_000).to_pylist()
    [-1, 1]
    """
    micros = value.cast(BITS_64)
    if unit == 1:
        return micros
    return valid_only(np.floor_divide(as_numpy(micros), unit), pc.is_valid(micros), BITS_64)


def convert_time(value: pa.Array, type_: pa.DataType) -> pa.Array:
    """Dates and timestamps into each other; the session is in UTC."""
    if pt.is_date32(type_):
        micros = value.cast(BITS_64)
        days = np.floor_divide(as_numpy(micros), _DAY)
        return valid_only(days, pc.is_valid(micros), BITS_64).cast(pa.int32(), safe=False).cast(type_)
    if pt.is_date32(value.type):
        days = value.cast(pa.int32()).cast(BITS_64)
        return pc.multiply(days, pa.scalar(_DAY)).cast(type_)
    return value.cast(BITS_64).cast(type_)
