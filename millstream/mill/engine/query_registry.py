"""The queries of an engine: those that run, those that have ended, and why others do not run."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Iterable

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Stream
from millstream.errors import RunError, suggest
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.engine.running import RunningQuery
from millstream.mill.stored.definitions import Definitions
from millstream.mill.stored.stored_rows import StoredRows
from millstream.mill.streams.readers import Readers


class QueryRegistry:
    """Queries by their names in small letters.

    `failures` are the reasons why queries that are stored could not be started, `alone` why queries share nothing.
    """

    def __init__(self, definitions: Definitions, readers: Readers, stored: StoredRows) -> None:
        self.by_name: dict[str, RunningQuery] = {}
        self.failures: dict[str, str] = {}
        self.alone: dict[str, str] = {}
        self._definitions, self._readers, self._stored = definitions, readers, stored
        self._forgotten: weakref.WeakSet[RunningQuery] = weakref.WeakSet()
        self._selects = itertools.count(1)

    @property
    def all(self) -> tuple[RunningQuery, ...]:
        """All queries that run or have ended here; of those without a name, the ones that somebody still holds."""
        return (*self.by_name.values(), *self._forgotten)

    def get(self, name: str) -> RunningQuery:
        """The running query of that name."""
        found = self.by_name.get(name.lower())
        if found is None:
            known = [query.name for query in self.by_name.values()]
            raise RunError(f"no query '{name}' runs: {suggest(name, known) or 'none does'}")
        return found

    def new_name(self, catalog: Catalog) -> str:
        """A name for a SELECT that has none."""
        while True:
            name = f"select_{next(self._selects)}"
            if catalog.query(name) is None:
                return name

    def know(self, running: RunningQuery) -> RunningQuery:
        """Know a query that has been started."""
        name = running.name.lower()
        self.by_name[name] = running
        self.failures.pop(name, None)
        if (lost := self._readers.failure(running.streams)) is not None:
            running.give_up(str(lost))  # before it was known who reads the stream
        return running

    def let_go(self, ready: ReadyQuery) -> None:
        """What ran under the name of a query that is to be started has ended, and lets go of what it held."""
        if (earlier := self.by_name.get(ready.name.lower())) is not None:
            with contextlib.suppress(RunError):
                earlier.stop(closing=ready.results is None)

    def forget(self, name: str) -> None:
        """Know nothing of a query any more."""
        self.by_name.pop(name.lower(), None)
        self.failures.pop(name.lower(), None)
        self.alone.pop(name.lower(), None)

    def forget_unnamed(self, query: RunningQuery) -> None:
        """Stop a query without a name, and leave nothing of it; who holds it can still look at what it did."""
        with contextlib.suppress(RunError):
            query.stop()
        if self.by_name.get(query.name.lower()) is query:
            del self.by_name[query.name.lower()]
            self._definitions.hide(query.definition)
        self._forgotten.add(query)

    def free_failed_names(self) -> None:
        """Free the names of queries that failed before they did anything."""
        nothing = [query.definition for query in list(self.by_name.values()) if query.came_to_nothing]
        if [query for query in nothing if self._definitions.catalog.holds(query)]:
            self._definitions.let_go(nothing)
            for query in nothing:
                self._stored.forget(query)

    def wait_for_feeders(self, streams: Iterable[Stream]) -> None:
        """Wait for the queries to end that put rows into some streams."""
        fed = {stream.name.lower() for stream in streams if stream.source is None}
        for query in list(self.by_name.values()):
            if (query.definition.into or "").lower() in fed:
                with contextlib.suppress(RunError):  # which is told of that query
                    query.wait()

    def wait(self) -> None:
        """Wait for all queries to end; the failures of all of them are raised together."""
        failures = []
        for query in list(self.by_name.values()):
            try:
                query.wait()
            except RunError as problem:
                failures.append(str(problem))
        if failures:
            raise RunError("\n".join(failures))
