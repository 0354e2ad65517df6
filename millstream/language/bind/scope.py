"""What the names in one SELECT can mean: the columns of its FROM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.catalog.definitions import PythonAggregate, Table, UserAggregate
from millstream.catalog.schema import Column, Schema, SqlType
from millstream.catalog.select import HistorySpec, MatchSpec, Select, TableJoinSpec, UnionSpec, WindowJoinSpec
from millstream.language.clauses.window_clause import WindowClause

UserVersions = tuple[UserAggregate | None, UserAggregate | None]
"""The base and the window version of a user-defined aggregate; one of them may be missing."""


@dataclass(frozen=True)
class Member:
    """One input of a join: its name, and what its columns are called in the whole, by their names in small letters.

    `merged` are those that USING has made one with a column further left, which is the one meant without a qualifier.
    """

    name: str
    columns: Mapping[str, str]
    merged: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Scope:
    """The relation that a SELECT reads, under the name that the SELECT gives it.

    That of a join has `members`, and may have `other_times`, besides `time`, along which windows can move.

    `latent` tuples never had a time stamp; those that lost one are not latent. `aggregates` are those of users, by
    their names in small letters, and `python` those that are classes. `tables` are those of the catalog, by name.
    For the members that are `hidden` no `*` stands.
    """

    name: str
    schema: Schema
    bounded: bool
    time: str | None = None
    source: Select | UnionSpec | WindowJoinSpec | TableJoinSpec | MatchSpec | HistorySpec | str | None = None
    clause: WindowClause | None = None
    latent: bool = False
    aggregates: Mapping[str, UserVersions] = field(default_factory=dict)
    python: Mapping[str, PythonAggregate] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    members: tuple[Member, ...] = ()
    hidden: frozenset[str] = frozenset()
    other_times: tuple[str, ...] = ()

    @property
    def types(self) -> Mapping[str, SqlType]:
        """The type of each column."""
        return {c.name: c.type for c in self.schema}

    @property
    def times(self) -> tuple[str, ...]:
        """All columns along which windows can move."""
        return (*([self.time] if self.time else []), *self.other_times)

    def member(self, name: str) -> Member | None:
        """The input of that name; a relation that is no join is its own."""
        if self.members:
            return next((m for m in self.members if m.name.lower() == name.lower()), None)
        own = Member(self.name, {c.name.lower(): c.name for c in self.schema})
        return own if self.name and name.lower() == self.name.lower() else None

    def homes(self, name: str) -> tuple[Member, ...]:
        """The inputs that have a column of that name and mean it when it stands alone."""
        low = name.lower()
        return tuple(m for m in self.members if low in m.columns and low not in m.merged)

    def is_parameter(self, name: str, qualifier: str) -> bool:
        """Whether a name means a parameter of a template: it has one value for each registration."""
        homes = [self.member(qualifier)] if qualifier else self.homes(name)
        return any(m is not None and m.name in self.hidden and name.lower() in m.columns for m in homes)

    def find(self, name: str) -> Column | None:
        """The column that a name without a qualifier means, None if there is none or if there are several."""
        homes = self.homes(name)
        if not homes:  # no join, or one of the names that a join itself gives
            return self.schema.find(name)
        return self.schema.find(homes[0].columns[name.lower()]) if len(homes) == 1 else None

    def dotted(self, name: str) -> Column | None:
        """The column that a name means that may have a qualifier before a dot."""
        head, dot, rest = name.partition(".")
        member = self.member(head) if dot else None
        if member is None:
            return self.find(name)
        actual = member.columns.get(rest.lower())
        return None if actual is None else self.schema.find(actual)


NOTHING = Scope("", Schema(), bounded=True)
"""The scope of a SELECT without FROM."""
