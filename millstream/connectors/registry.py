"""The connectors: one line for each kind, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.catalog.address import Address
from millstream.catalog.definitions import Sink, Stream, Table
from millstream.catalog.options import read_options
from millstream.connectors.console import spec as console
from millstream.connectors.contract import Connector, Role
from millstream.connectors.csv import spec as csv
from millstream.connectors.fed import spec as fed
from millstream.connectors.json import spec as json
from millstream.connectors.memory import spec as memory
from millstream.connectors.noop import spec as noop
from millstream.connectors.parquet import spec as parquet
from millstream.connectors.postgres import spec as postgres
from millstream.connectors.rate import spec as rate
from millstream.connectors.stored import spec as stored
from millstream.connectors.tcp import spec as tcp
from millstream.errors import SettingError, suggest

CONNECTORS: Mapping[str, Connector] = {
    spec.kind: spec
    for spec in (
        csv.SPEC,
        json.SPEC,
        parquet.SPEC,
        postgres.SPEC,
        rate.SPEC,
        tcp.SPEC,
        console.SPEC,
        memory.SPEC,
        noop.SPEC,
        stored.SPEC,
        fed.SPEC,
    )
}

LATER = ("kafka",)
"""Kinds that are planned, so that an error can say so."""


def kinds(role: Role) -> tuple[str, ...]:
    """The kinds that can serve in a role."""
    return tuple(spec.kind for spec in CONNECTORS.values() if role in spec.roles and not spec.internal)


def connector(address: Address) -> Connector:
    """The kind of an address that was bound."""
    return CONNECTORS[address.kind]


def connector_for(address: Address, role: Role) -> Connector:
    """The kind of an address, if it can serve in that role and the place is one of its own."""
    spec, known = CONNECTORS.get(address.kind), kinds(role)
    # First of all: an error of the others shows the statement, and with it what may be secret in a place.
    problem = spec.place_problem(address.rest) if spec is not None and address.rest else None
    if address.kind in LATER:
        raise SettingError(f"'{address.kind}:' is not available yet: a {role.value} can be {_list(known)}")
    if spec is None or role not in spec.roles or spec.internal:
        raise SettingError(f"'{address.kind}:' is not a kind of {role.value}: {suggest(address.kind, known)}")
    if not address.rest and spec.example:
        raise SettingError(f"'{address}' names no place: write '{address.kind}:{spec.example}'")
    if problem is not None:
        raise SettingError(problem.message, problem.hint)
    return spec


def options_of(definition: Stream | Table | Sink) -> dict[str, object]:
    """The options of what was declared, with the defaults of those that were not given."""
    role = next(role for kind, role in _ROLES.items() if isinstance(definition, kind))
    address = definition.address if isinstance(definition, Sink) else definition.source
    assert address is not None  # noqa: S101  (a stream without source takes no options)
    return read_options(definition.options, connector(address).options(role), address.kind)


_ROLES = {Stream: Role.STREAM, Table: Role.TABLE, Sink: Role.SINK}


def _list(known: tuple[str, ...]) -> str:
    return ", ".join(f"'{k}:'" for k in known[:-1]) + f" or '{known[-1]}:'"
