"""The engine: a Spark session, and the queries, streams and templates that run with it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query
from millstream.errors import RunError
from millstream.mill.engine.bounded_runs import BoundedRuns
from millstream.mill.engine.lone_queries import LoneQueries
from millstream.mill.engine.planner import Planner
from millstream.mill.engine.query_registry import QueryRegistry
from millstream.mill.engine.runtime import Place, Runtime
from millstream.mill.engine.starter import Starter
from millstream.mill.hosts.hosts import Hosts
from millstream.mill.reports.analysis import Analysis
from millstream.mill.standing.templates import Templates
from millstream.mill.stored.definitions import Definitions
from millstream.mill.stored.stored_rows import StoredRows
from millstream.mill.streams.open_streams import OpenStreams
from millstream.spark.process.failures import SPARK_ERRORS


class Engine:
    """The parts of a running system, and what concerns several of them."""

    def __init__(self, place: Place, definitions: Definitions) -> None:
        self.home, self.definitions = definitions.home, definitions
        self.stored = StoredRows(self.home)
        self.runtime = Runtime(place, definitions, self.stored)
        self.planner = Planner(definitions, self.runtime)
        self.streams = OpenStreams(self.home, self.runtime, self.lose_stream)
        self.readers, self.listeners = self.streams.readers, self.streams.listeners
        self.queries = QueryRegistry(definitions, self.readers, self.stored)
        self.bounded = BoundedRuns(self.planner, self.runtime, self.streams, self.queries)
        self.templates = Templates(self._template_names, durable=not self.home.temporary)
        self.hosts = Hosts(self.home, self.runtime, self.planner, self.queries, self.streams)
        self.lone = LoneQueries(self.home, self.runtime, self.planner, self.streams, self.queries, self.templates)
        self.starter = Starter(definitions, self.lone, self.hosts)

    @property
    def catalog(self) -> Catalog:
        """The catalog in force."""
        return self.definitions.catalog

    @property
    def base(self) -> Path:
        """The folder that relative addresses start from, unless a session has another one."""
        return self.runtime.place.base

    def account(self, query: Query) -> Analysis:
        """What the steps of a running query have done so far."""
        running = self.queries.get(query.name)
        return Analysis(self.planner.physical(query, running.manner.settings), running.counts)

    def remove(self, query: Query) -> None:
        """Stop a query for good, and forget what it had kept."""
        running = self.queries.by_name.get(query.name.lower())
        if running:
            self.hosts.forget(running)
            running.stop()
            running.disown(self.runtime.written)
        self.queries.forget(query.name)
        self.templates.forget(query.name)
        if running is None or not running.is_temporary:
            self.stored.forget(query)
            self.home.forget_query(query.name)

    def lose_stream(self, stream: str, problem: RunError) -> None:
        """End the queries over a stream that nothing comes into any more: they would wait for ever, and say nothing."""
        queries = list(self.queries.by_name.values())
        waiting = [query for query in queries if stream in query.streams and query.is_active]
        with contextlib.suppress(*SPARK_ERRORS, RunError):
            self.hosts.halt(waiting)
        for query in waiting:
            if query.failure is None:
                with contextlib.suppress(*SPARK_ERRORS):  # it ended by itself meanwhile
                    query.give_up(str(problem))

    def wait(self) -> None:
        """Wait for all queries to end; the failures of all of them are raised together."""
        self.templates.let_go()
        self.queries.wait()

    def stop(self) -> None:
        """Stop all queries, of those that share a reading all at once."""
        running = list(self.queries.by_name.values())
        with contextlib.suppress(*SPARK_ERRORS, RunError):
            self.hosts.halt(running)
        for query in running:
            with contextlib.suppress(*SPARK_ERRORS, RunError):
                query.stop()

    def close(self) -> None:
        """Stop all queries and listeners. The Spark session stays for others in this process."""
        self.runtime.closed = True
        self.stop()
        self.readers.stop()
        self.templates.close()
        self.listeners.stop()
        self.runtime.close()

    def _template_names(self) -> list[str]:
        return [query.name for query in self.catalog.all(Query) if query.parameters is not None]
