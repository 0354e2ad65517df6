"""Columns and schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

SqlType = exp.DataType
"""Types are sqlglot's; they are written and compared in Spark's names, see `type_name`."""

UNKNOWN: SqlType = exp.DataType.build("unknown")
"""The type of an expression that only Spark can tell."""


def sql_type(text: str) -> SqlType:
    """The type that a Spark type name stands for.

    >>> type_name(sql_type("timestamp"))
    'TIMESTAMP'
    """
    return exp.DataType.build(text, dialect="spark")


def type_name(type_: SqlType) -> str:
    """The type in Spark's spelling.

    >>> type_name(sql_type("array<int>"))
    'ARRAY<INT>'
    """
    if any(value for name, value in type_.args.items() if name != "this"):
        return str(type_.sql(dialect="spark"))
    known = _NAMES.get(type_.this)
    if known is None:
        known = "UNKNOWN" if type_.is_type("unknown") else str(type_.sql(dialect="spark"))
        _NAMES[type_.this] = known
    return known


_NAMES: dict[object, str] = {}
"""Of types without parts: they are asked for by the thousand."""


@dataclass(frozen=True)
class Column:
    """A named, typed column."""

    name: str
    type: SqlType
    nullable: bool = True

    def __str__(self) -> str:
        return f"{self.name} {type_name(self.type)}{'' if self.nullable else ' NOT NULL'}"


class Schema(tuple[Column, ...]):
    """Columns in order; names are found without regard to case.

    >>> s = Schema([Column("Price", sql_type("real"))])
    >>> s.find("price").name
    'Price'
    """

    __slots__ = ()

    def __new__(cls, columns: Iterable[Column] = ()) -> Schema:  # noqa: D102
        return super().__new__(cls, tuple(columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(c.name for c in self)

    def find(self, name: str) -> Column | None:
        """The column of that name, or None."""
        wanted = name.lower()
        return next((c for c in self if c.name.lower() == wanted), None)

    def without(self, name: str) -> Schema:
        """The same schema less one column."""
        return Schema(c for c in self if c.name.lower() != name.lower())

    def __str__(self) -> str:
        return ", ".join(map(str, self))

    def __iter__(self) -> Iterator[Column]:
        return super().__iter__()
