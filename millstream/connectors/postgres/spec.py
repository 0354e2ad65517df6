"""`postgres:` tables, read."""

from __future__ import annotations

from millstream.catalog.options import Option, count
from millstream.connectors.contract import Connector, Problem, Role
from millstream.connectors.postgres.place import EXAMPLE, PostgresPlace


def _place_problem(place: str) -> Problem | None:
    """A place that cannot be read raises an error of its own: one about a password must not show the statement."""
    PostgresPlace.parse(place)
    return None


SPEC = Connector(
    "postgres",
    frozenset({Role.TABLE}),
    EXAMPLE,
    source_options={
        "password_env": Option(str, None, "the variable of the environment that holds the password"),
        "connect_timeout": Option(count, 10, "how many seconds the server has to accept a connection"),
        "read_timeout": Option(count, 30, "how many seconds the server has to send the next rows"),
    },
    place_problem=_place_problem,
)
