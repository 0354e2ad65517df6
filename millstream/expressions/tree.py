"""Expressions as data: every name resolved, every value typed, every cast written out.

The binder makes a tree once, and all others read it: plans, fingerprints, EXPLAIN, and the compilers to Spark's text,
to Arrow and to Python. What several of them compute is a `Call` of a function by name, whose arguments already have the
types that it works on: `millstream.expressions.functions` has all of them. What only Spark computes is an `OnlySpark`.
Bodies of aggregates have some more nodes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

Span = tuple[int, int]
"""Where something stands in the text of its statement."""


@dataclass(frozen=True)
class Type:
    """The type of a value.

    `bool`, `int8` to `int64`, `float32`, `float64`, `string`, `decimal`; `date` is a number of days and `timestamp`
    one of microseconds since 1970, as is `timestamp_ntz`, `interval` one of microseconds and `months` one of months,
    whose `units` say what Spark makes of them; a `calendar interval` is both at once. `array` has elements of one type,
    `map` keys and elements, `struct` fields. `null` is only NULL, and `unknown` what Spark alone can tell. Others have
    Spark's name, as `binary`.
    """

    name: str
    precision: int = 0
    scale: int = 0
    element: Type | None = None
    key: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()
    units: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        if self.name == "array":
            return f"array({self.element})"
        if self.name == "map":
            return f"map({self.key}, {self.element})"
        if self.name == "struct":
            return f"struct({', '.join(f'{name} {type_}' for name, type_ in self.fields)})"
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
TIMESTAMP_NTZ, UNKNOWN, CALENDAR = map(Type, ["timestamp_ntz", "unknown", "calendar interval"])


class Value:
    """A node: all have a type."""

    type: Type


@dataclass(frozen=True)
class Literal(Value):
    """A value that is written out; times and intervals as their numbers. `text` is how a user has written it."""

    value: bool | int | float | str | Decimal | None
    type: Type
    text: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Column(Value):
    """A column of the row at hand. One of the system's own has the `text` for which it stands."""

    name: str
    type: Type
    text: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Call(Value):
    """A function of values, by its name in the registry.

    SQL has no word for a call that is `unwritten`: it makes another type of its first argument of its own accord, and
    so does Spark where it sees that argument alone.
    """

    function: str
    arguments: tuple[Value, ...]
    type: Type
    unwritten: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Case(Value):
    """The value of the first branch whose condition is true, else the default."""

    branches: tuple[tuple[Value, Value], ...]
    default: Value
    type: Type


@dataclass(frozen=True)
class OnlySpark(Value):
    """What only Spark computes: a function of its own or, with a `form`, a construct written around its arguments.

    The form has one text more than there are arguments: they stand between these.
    """

    name: str
    arguments: tuple[Value, ...]
    type: Type
    form: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Parameter(Value):
    """A parameter of the function around it."""

    name: str
    type: Type


@dataclass(frozen=True)
class Lambda(Value):
    """A function without a name, as an argument of what only Spark computes."""

    parameters: tuple[str, ...]
    body: Value
    type: Type
