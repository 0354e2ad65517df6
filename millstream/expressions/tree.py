"""Expressions as data: every name resolved, every value typed, every cast written out.

Values are trees of a few kinds of nodes. What computes is a `Call` of a function by name, whose arguments already have
the types that it works on: `millstream.expressions.functions` has all of them. Bodies of aggregates have some more
nodes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Type:
    """The type of a value at run time.

    `bool`, `int8` to `int64`, `float32`, `float64`, `string`, `decimal`; `date` is a number of days and `timestamp`
    one of microseconds since 1970, as is `timestamp_ntz`, `interval` one of microseconds and `months` one of months.
    `array` has elements of one type, `null` is only NULL, and `unknown` what only Spark can compute with.
    """

    name: str
    precision: int = 0
    scale: int = 0
    element: Type | None = None

    def __str__(self) -> str:
        if self.element is not None:
            return f"array({self.element})"
        return f"decimal({self.precision}, {self.scale})" if self.name == "decimal" else self.name

    @property
    def is_whole(self) -> bool:
        """Whether it counts in whole numbers of limited size."""
        return self.name.startswith("int") and self.name != "interval"

    @property
    def is_float(self) -> bool:
        """Whether it is a binary fraction."""
        return self.name.startswith("float")


BOOL, INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, STRING, DATE, TIMESTAMP, INTERVAL, MONTHS, NULL = map(
    Type,
    [
        *("bool", "int8", "int16", "int32", "int64", "float32", "float64"),
        *("string", "date", "timestamp", "interval", "months", "null"),
    ],
)
TIMESTAMP_NTZ, UNKNOWN = Type("timestamp_ntz"), Type("unknown")


class Value:
    """A node: all have a type."""

    type: Type


@dataclass(frozen=True)
class Literal(Value):
    """A value that is written out; times and intervals as their numbers."""

    value: bool | int | float | str | Decimal | None
    type: Type


@dataclass(frozen=True)
class Column(Value):
    """A column of the row at hand."""

    name: str
    type: Type


@dataclass(frozen=True)
class Call(Value):
    """A function of values, by its name in the registry."""

    function: str
    arguments: tuple[Value, ...]
    type: Type


@dataclass(frozen=True)
class Case(Value):
    """The value of the first branch whose condition is true, else the default."""

    branches: tuple[tuple[Value, Value], ...]
    default: Value
    type: Type
