"""`tcp:PORT`, lines that producers push."""

from __future__ import annotations

from millstream.catalog.definitions import Options
from millstream.catalog.options import Option, count, one_of
from millstream.catalog.schema import Column
from millstream.connectors.contract import Connector, Problem, Role
from millstream.connectors.csv.spec import nested_problem
from millstream.connectors.shared_options import CSV_TEXT


def _place_problem(place: str) -> Problem | None:
    if place.isdigit() and int(place) <= 65535:
        return None
    hint = "write 'tcp:4446'; to listen beyond this machine add OPTIONS (host = '0.0.0.0')"
    return Problem(f"'{place}' is not a port", hint)


def _column_problem(column: Column, options: Options) -> Problem | None:
    return nested_problem(column, options) if options.get("format", "").lower() == "csv" else None


SPEC = Connector(
    "tcp",
    frozenset({Role.STREAM}),
    "4446",
    pushed=True,
    source_options={
        "format": Option(one_of("json", "csv"), "json", "how a line is written", shapes_rows=True),
        "host": Option(str, "127.0.0.1", "the address to listen on; other machines reach only what is opened here"),
        "connections": Option(count, 500, "how many producers may be connected: a newcomer replaces the most silent"),
        "connections_per_address": Option(count, None, "how many of one address: a fifth of all, of this machine all"),
        "timeout": Option(count, 600, "after how many seconds without a line a connection is ended"),
        **{name: option for name, option in CSV_TEXT.items() if name != "header"},
    },
    only_spark="its lines are pushed",
    place_problem=_place_problem,
    column_problem=_column_problem,
)
