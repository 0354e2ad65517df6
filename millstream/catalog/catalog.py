"""The catalog: the definition of each name, and which definitions use which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
)

D = TypeVar("D", Stream, DerivedStream, Table, Sink, Query, UserAggregate, PythonAggregate)

STDOUT = Sink("stdout", Address("console", ""))
"""The sink that is always there."""


class Catalog:
    """Streams and tables share one space of names; sinks and queries have one each. Case does not matter.

    Base aggregates have a space of names, and window aggregates another.
    """

    def __init__(self) -> None:
        self._relations: dict[str, Relation] = {}
        self._sinks: dict[str, Sink] = {STDOUT.name: STDOUT}
        self._queries: dict[str, Query] = {}
        self._aggregates: dict[bool, dict[str, UserAggregate | PythonAggregate]] = {False: {}, True: {}}
        self._come_to_nothing: frozenset[str] = frozenset()

    def add(self, definition: Definition) -> None:
        """Put a definition under its name, which must be free (see `find`)."""
        space = self._space(definition)
        space[definition.name.lower()] = definition
        if isinstance(definition, Query):
            self._come_to_nothing -= {definition.name.lower()}

    def remove(self, definition: Definition) -> None:
        """Take a definition away."""
        del self._space(definition)[definition.name.lower()]

    def relation(self, name: str) -> Relation | None:
        """The stream or table of that name."""
        return self._relations.get(name.lower())

    def sink(self, name: str) -> Sink | None:
        """The sink of that name."""
        return self._sinks.get(name.lower())

    def query(self, name: str) -> Query | None:
        """The query of that name."""
        return self._queries.get(name.lower())

    def holds(self, query: Query) -> bool:
        """Whether a query holds its name, and what it uses: not if it has failed before it did anything."""
        return query.name.lower() not in self._come_to_nothing

    def let_go(self, queries: Iterable[Query]) -> None:
        """Say which queries have come to nothing: they stay listed, and are in nobody's way."""
        self._come_to_nothing = frozenset(query.name.lower() for query in queries)

    def aggregate(self, name: str, window: bool = False) -> UserAggregate | PythonAggregate | None:
        """The base or the window version of a user-defined aggregate."""
        return self._aggregates[window].get(name.lower())

    def find(self, definition: Definition) -> Definition | None:
        """What already has the name that this definition wants."""
        return self._space(definition).get(definition.name.lower())

    def all(self, kind: type[D]) -> tuple[D, ...]:
        """Every definition of a kind, in the order they were made."""
        return tuple(d for d in self if isinstance(d, kind))

    @property
    def relation_names(self) -> tuple[str, ...]:
        """The names of all streams and tables."""
        return tuple(r.name for r in self._relations.values())

    def users(self, definition: Definition) -> tuple[str, ...]:
        """Who would miss it: derived streams and queries that read a relation, queries that feed a sink."""
        name = definition.name.lower()
        queries = [query for query in self._queries.values() if self.holds(query)]
        if isinstance(definition, Sink):
            return tuple(q.name for q in queries if name in (s.lower() for s in q.sinks))
        if isinstance(definition, Query | UserAggregate | PythonAggregate):
            return ()  # nobody reads a query, though a stream may have its name
        readers: tuple[DerivedStream | Query, ...] = (*self.all(DerivedStream), *queries)
        return tuple(d.name for d in readers if name in (r.lower() for r in d.select.reads))

    def _space(self, definition: Definition) -> dict[str, Definition]:
        if isinstance(definition, UserAggregate | PythonAggregate):
            return self._aggregates[definition.window]  # type: ignore[return-value]
        spaces = {Sink: self._sinks, Query: self._queries}
        return spaces.get(type(definition), self._relations)  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Definition]:
        yield from self._relations.values()
        yield from self._sinks.values()
        yield from self._queries.values()
        for versions in self._aggregates.values():
            yield from versions.values()
