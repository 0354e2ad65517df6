"""The catalog: the definition of each name, and which definitions use which."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from millstream.catalog.address import Address
from millstream.catalog.definitions import (
    Definition,
    DerivedStream,
    PythonAggregate,
    Query,
    Relation,
    Sink,
    Stream,
    Table,
    UserAggregate,
    View,
)

D = TypeVar("D", Stream, DerivedStream, Table, View, Sink, Query, UserAggregate, PythonAggregate)

STDOUT = Sink("stdout", Address("console", ""))
"""The sink that is always there."""

Key = tuple[str, str]
"""A space of names, and a name in small letters: what only one definition has."""

RELATION, SINK, QUERY, AGGREGATE, WINDOW_AGGREGATE = "relation", "sink", "query", "aggregate", "window aggregate"
SPACES = (RELATION, SINK, QUERY, AGGREGATE, WINDOW_AGGREGATE)


@dataclass(frozen=True)
class Broken:
    """A definition that was stored, and that does not bind any more: its kind, its name, its text, and why."""

    kind: str
    name: str
    text: str
    reason: str


def key_of(definition: Definition) -> Key:
    """The key of a definition.

    >>> key_of(STDOUT)
    ('sink', 'stdout')
    """
    if isinstance(definition, UserAggregate | PythonAggregate):
        return (WINDOW_AGGREGATE if definition.window else AGGREGATE, definition.name.lower())
    spaces = {Sink: SINK, Query: QUERY}
    return (spaces.get(type(definition), RELATION), definition.name.lower())


class Catalog:
    """Streams and tables share one space of names; sinks and queries have one each. Case does not matter.

    Base aggregates have a space of names, and window aggregates another. A catalog that others may look at is not
    changed: whoever changes it changes a copy, and puts that in its place.
    """

    def __init__(self) -> None:
        self._spaces: dict[str, dict[str, Definition]] = {space: {} for space in SPACES}
        self._spaces[SINK][STDOUT.name] = STDOUT
        self._uses: dict[Key, frozenset[Key]] = {}
        self._broken: dict[Key, Broken] = {}
        self._come_to_nothing: frozenset[str] = frozenset()
        self._seen: set[Key] | None = None

    def copy(self) -> Catalog:
        """A catalog with the same definitions, which can be changed apart from this one."""
        made = Catalog()
        made._spaces = {space: dict(names) for space, names in self._spaces.items()}
        made._uses, made._broken = dict(self._uses), dict(self._broken)
        made._come_to_nothing = self._come_to_nothing
        return made

    def record_lookups(self, seen: set[Key]) -> Catalog:
        """The same definitions; the keys of those that are looked up are put into `seen`."""
        made = self.copy()
        made._seen = seen  # noqa: SLF001
        return made

    def add(self, definition: Definition, uses: Collection[Key] = ()) -> None:
        """Put a definition under its name, in place of what has it (see `find`); `uses` are those it was bound to."""
        space, name = key_of(definition)
        self._spaces[space][name] = definition
        self._uses[space, name] = frozenset(key for key in uses if key != (space, name) and key[0] != QUERY)
        self._broken.pop((space, name), None)
        if isinstance(definition, Query):
            self._come_to_nothing -= {name}

    def add_as(self, name: str, definition: Definition) -> None:
        """Let a definition be found under a further name."""
        self._spaces[key_of(definition)[0]][name.lower()] = definition

    def remove(self, definition: Definition) -> None:
        """Take a definition away."""
        space, name = key_of(definition)
        del self._spaces[space][name]
        self._uses.pop((space, name), None)

    def relation(self, name: str) -> Relation | None:
        """The stream or table of that name."""
        return self._find(RELATION, name)  # type: ignore[return-value]

    def sink(self, name: str) -> Sink | None:
        """The sink of that name."""
        return self._find(SINK, name)  # type: ignore[return-value]

    def query(self, name: str) -> Query | None:
        """The query of that name."""
        return self._find(QUERY, name)  # type: ignore[return-value]

    def aggregate(self, name: str, window: bool = False) -> UserAggregate | PythonAggregate | None:
        """The base or the window version of a user-defined aggregate."""
        return self._find(WINDOW_AGGREGATE if window else AGGREGATE, name)  # type: ignore[return-value]

    def holds(self, query: Query) -> bool:
        """Whether a query holds its name, and what it uses: not if it has failed before it did anything."""
        return query.name.lower() not in self._come_to_nothing

    def let_go(self, queries: Iterable[Query]) -> None:
        """Say which queries have come to nothing: they stay listed, and are in nobody's way."""
        self._come_to_nothing = frozenset(query.name.lower() for query in queries)

    def find(self, definition: Definition) -> Definition | None:
        """What already has the name that this definition wants."""
        return self.at(key_of(definition))

    def at(self, key: Key) -> Definition | None:
        """The definition that has a key."""
        return self._spaces[key[0]].get(key[1])

    def all(self, kind: type[D]) -> tuple[D, ...]:
        """Every definition of a kind, in the order they were made."""
        return tuple(d for d in self if isinstance(d, kind))

    @property
    def relation_names(self) -> tuple[str, ...]:
        """The names of all streams and tables."""
        return tuple(r.name for r in self._spaces[RELATION].values())

    # -- who uses what -------------------------------------------------------------------------------------

    def users(self, definition: Definition) -> tuple[str, ...]:
        """Who would miss it: the names of its dependants that hold what they use, and of stored ones that are broken.

        That are derived streams and queries that read a relation, queries that feed a sink, and all that call an
        aggregate. Nobody reads a query, though a stream may have its name.
        """
        using = self.dependants(definition)
        return tuple(d.name for d in using if not isinstance(d, Query) or self.holds(d))

    def dependants(self, definition: Definition) -> tuple[Definition, ...]:
        """The definitions that use one directly: streams and aggregates first, then queries, in their order."""
        wanted = key_of(definition)
        using = [d for d in self if wanted in self.used_by(d)]
        return tuple(sorted(using, key=lambda d: isinstance(d, Query)))

    def used_by(self, definition: Definition) -> frozenset[Key]:
        """The keys of all that a definition uses directly."""
        used = set(self._uses.get(key_of(definition), ()))
        if isinstance(definition, DerivedStream | Query):
            used |= {(RELATION, name.lower()) for name in definition.select.reads}
        if isinstance(definition, Query):
            used |= {(SINK, sink.lower()) for sink in definition.sinks}
            if definition.into is not None:
                used.add((RELATION, definition.into.lower()))
        if isinstance(definition, View):
            used.add((QUERY, definition.name.lower()))
        return frozenset(used)

    # -- what does not bind any more -----------------------------------------------------------------------

    @property
    def broken(self) -> dict[Key, Broken]:
        """The stored definitions that do not bind, by their keys."""
        return dict(self._broken)

    def add_broken(self, key: Key, broken: Broken) -> None:
        """Keep a stored definition that does not bind: its name is taken, and nobody can use it."""
        self._broken[key] = broken

    def remove_broken(self, key: Key) -> None:
        """Forget a stored definition that does not bind."""
        del self._broken[key]

    def _find(self, space: str, name: str) -> Definition | None:
        found = self._spaces[space].get(name.lower())
        if found is not None and self._seen is not None:
            self._seen.add((space, name.lower()))
        return found

    def __iter__(self) -> Iterator[Definition]:
        for space in SPACES:
            yield from self._spaces[space].values()
