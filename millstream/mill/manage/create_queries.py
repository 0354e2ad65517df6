"""New queries: announced one by one, and started together, so that those over one stream can share its reading."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from millstream.catalog.catalog import key_of
from millstream.catalog.definitions import Definition, Query
from millstream.errors import MillstreamError
from millstream.mill.context import Context
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.engine.running import RunningQuery, has_started
from millstream.mill.stored.catalog_store import RUNNING, Entry


@dataclass(frozen=True)
class QueryCreation:
    """A new query that is stored as intended. `earlier` has its name now, if anything has; `intent` undoes it all."""

    ready: ReadyQuery
    entry: Entry
    at: Context
    earlier: Definition | None
    intent: ExitStack

    @property
    def query(self) -> Query:
        """The query."""
        return self.ready.prepared.query

    def settle(self) -> None:
        """It runs: it is stored as what it is."""
        self.intent.close()
        self.at.definitions.add(self.query, replace(self.entry, pending=None), self.at.uses)

    def call_off(self, problem: BaseException) -> None:
        """It does not come: catalog and store are as they were, and nothing of it runs."""
        definitions, engine = self.at.definitions, self.at.engine
        running = engine.queries.by_name.get(self.query.name.lower())
        if running is not None and running.definition is self.query:  # it shares a reading with one that was started
            with contextlib.suppress(MillstreamError):
                engine.remove(self.query) if self.earlier is None else running.stop()
        if self.earlier is None:
            definitions.hide(self.query)
        else:
            definitions.show(self.earlier, definitions.catalog.used_by(self.earlier))
        with contextlib.suppress(type(problem)):
            self.intent.__exit__(type(problem), problem, problem.__traceback__)


def announce_query(query: Query, at: Context) -> QueryCreation:
    """Look whether a new query can be started, and take its name: others may not have it, nor drop what it uses."""
    definitions, engine = at.definitions, at.engine
    prepared = engine.starter.prepare(query)
    manner = at.manner
    entry = replace(definitions.entry_for(query, at.base, manner.settings), wanted=RUNNING)
    if entry.id:
        engine.starter.check_state(prepared)
    earlier = definitions.catalog.at(key_of(query))
    intent = ExitStack()
    stored = intent.enter_context(definitions.store_intent(entry))
    definitions.show(query, at.uses)
    return QueryCreation(ReadyQuery(prepared, manner), stored, at, earlier, intent)


def create_queries(coming: Sequence[QueryCreation], engine: Engine) -> Iterator[RunningQuery]:
    """Start new queries, each from its checkpoint if there is one.

    If one cannot be started, those before it run, and nothing is left of it and of those behind it.
    """
    left = list(coming)
    try:
        for outcome in engine.starter.start_all([one.ready for one in coming]):
            running = has_started(outcome)
            left.pop(0).settle()
            yield running
    except BaseException as problem:
        for one in reversed(left):
            one.call_off(problem)
        raise
