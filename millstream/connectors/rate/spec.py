"""`rate:N`, N rows a second, made by a clock."""

from __future__ import annotations

from millstream.catalog.definitions import Options
from millstream.catalog.schema import Column, type_name
from millstream.connectors.contract import Connector, Problem, Role

_FILLED = ("timestamp", "timestamptz", "timestampltz", "bigint", "int")


def _place_problem(place: str) -> Problem | None:
    if place.isdigit() and int(place) >= 1:
        return None
    return Problem(f"'{place}' is not a number of rows per second", "write 'rate:1000'")


def _column_problem(column: Column, options: Options) -> Problem | None:
    if column.type.is_type(*_FILLED):
        return None
    return Problem(
        f"'rate:' cannot fill '{column.name}' {type_name(column.type)}",
        "its rows have a time (TIMESTAMP columns) and a counter (INT and BIGINT columns)",
    )


SPEC = Connector(
    "rate",
    frozenset({Role.STREAM}),
    "1000",
    clocked=True,
    only_spark="Spark makes its rows",
    place_problem=_place_problem,
    column_problem=_column_problem,
)
