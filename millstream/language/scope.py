"""What the names in one SELECT can mean: the columns of its FROM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.catalog.definitions import PythonAggregate, Select, Table, UserAggregate
from millstream.catalog.schema import Schema, SqlType
from millstream.language.window_clause import WindowClause

UserVersions = tuple[UserAggregate | None, UserAggregate | None]
"""The base and the window version of a user-defined aggregate; one of them may be missing."""


@dataclass(frozen=True)
class Scope:
    """The relation that a SELECT reads, under the name that the SELECT gives it.

    `latent` tuples never had a time stamp; those that lost one are not latent. `aggregates` are those of users, by
    their names in small letters, and `python` those that are classes. `tables` are those of the catalog, by name.
    """

    name: str
    schema: Schema
    bounded: bool
    time: str | None = None
    source: Select | str | None = None
    clause: WindowClause | None = None
    latent: bool = False
    aggregates: Mapping[str, UserVersions] = field(default_factory=dict)
    python: Mapping[str, PythonAggregate] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def types(self) -> Mapping[str, SqlType]:
        """The type of each column."""
        return {c.name: c.type for c in self.schema}


NOTHING = Scope("", Schema(), bounded=True)
"""The scope of a SELECT without FROM."""
