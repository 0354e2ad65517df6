"""Starts queries, after a check: each by itself, or together with others that read the same stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query, Sink, Stream
from millstream.connectors.registry import connector
from millstream.errors import MillstreamError, RunError
from millstream.mill.engine.lone_queries import LoneQueries
from millstream.mill.engine.prepared_query import PreparedQuery, ReadyQuery
from millstream.mill.engine.running import RunningQuery, has_started
from millstream.mill.home.query_record import QueryRecord
from millstream.mill.hosts.hosts import Hosts
from millstream.mill.manner import Manner
from millstream.mill.stored.definitions import Definitions
from millstream.mill.stored.stored_rows import RowStore
from millstream.plan.column_origins import fingerprints
from millstream.plan.reads import sources_of, streams_of
from millstream.spark.process.failures import translate_failures

KEPT = Sink("results", Address("memory", ""))
"""Where the rows of a CREATE QUERY go."""


@dataclass(frozen=True)
class Starter:
    """Prepares queries, and starts them."""

    definitions: Definitions
    lone: LoneQueries
    hosts: Hosts

    def prepare(self, query: Query, catalog: Catalog | None = None) -> PreparedQuery:
        """Look whether a query can be started; nothing is changed by that."""
        catalog = catalog or self.definitions.catalog
        plan = self.lone.planner.plan(query, catalog)
        self.lone.streams.listeners.check(streams_of(plan))
        sinks = [sink for name in query.sinks if (sink := catalog.sink(name))] or [KEPT]
        fed = None if query.into is None else catalog.relation(query.into)
        if query.into is not None:
            sinks = [Sink(query.into, Address("fed", str(self.definitions.home.feed_folder(query.into))))]
        for sink in sinks:
            _check_single_writer(sink, query, catalog)
        record = QueryRecord(sources_of(plan), fingerprints(plan), query.text)
        return PreparedQuery(query, plan, sinks, record, fed if isinstance(fed, Stream) else None)

    def check_state(self, prepared: PreparedQuery) -> None:
        """Refuse a query that would not go on from what it has left."""
        home, name = self.definitions.home, prepared.query.name
        if (record := home.record_of(name)) is not None:
            record.check(name, prepared.record, home.query_folder(name))

    def start(self, ready: ReadyQuery) -> RunningQuery:
        """Start a query, from its checkpoint if there is one."""
        (outcome,) = self.start_all([ready])
        return has_started(outcome)

    def start_all(self, ready: Sequence[ReadyQuery], despite: bool = False) -> Iterator[RunningQuery | MillstreamError]:
        """Start queries in their order, each from its checkpoint if there is one; some may read their stream together.

        The first one that cannot be started is the last, unless the others are to be started `despite` that.
        """
        together = {number: group for group in self.hosts.decisions.group_into_hosts(ready) for number in group}
        done: dict[int, RunningQuery | MillstreamError] = {}
        for number, one in enumerate(ready):
            group = together.get(number, [number])
            if len(group) == 1 and (joined := self.hosts.joiner.join(one)) is not None:
                done[number] = joined  # perhaps a host that one before it has started
            elif number not in together:
                done[number] = self._start_alone(one)
            elif number not in done:
                started = self.hosts.starter.start([ready[each] for each in group], despite)
                done.update(zip(group, started, strict=False))
            outcome = done[number]
            yield outcome
            if isinstance(outcome, MillstreamError) and not despite:
                return

    def start_unnamed(self, query: Query, manner: Manner, catalog: Catalog) -> RunningQuery:
        """Start a query that leaves nothing behind when it has ended."""
        return self.lone.start_unnamed(self.prepare(query, catalog), manner)

    def restart(self, name: str, manner: Manner | None = None, results: RowStore | None = None) -> RunningQuery:
        """Start a query again that has ended, from its checkpoint; its counts go on.

        If it was the host that ended, all members that ended with it are started again.
        """
        queries = self.lone.queries
        earlier = queries.get(name)
        if earlier.is_active:
            raise RunError(f"query {earlier.name} runs")
        if earlier.is_temporary:
            raise RunError(f"{earlier.name} has left nothing to go on from\nhelp: run the SELECT again")
        again = [
            ReadyQuery(
                self.prepare(self.definitions.catalog.query(one.name) or one.definition),
                (manner or one.manner) if one is earlier else one.manner,
                results if one is earlier else None,
            )
            for one in self.hosts.ended_with(earlier)
        ]
        before = {one.name.lower(): queries.by_name[one.name.lower()].counts for one in again}
        problem = None
        for one, outcome in zip(again, self.start_all(again, despite=True), strict=True):
            if isinstance(outcome, RunningQuery):
                outcome.counts.go_on_from(before[one.name.lower()])
            elif one.name.lower() == earlier.name.lower():
                problem = outcome
        if problem is not None:
            raise problem
        return queries.get(name)

    def _start_alone(self, ready: ReadyQuery) -> RunningQuery | MillstreamError:
        try:
            with translate_failures():
                return self.lone.start(ready)
        except MillstreamError as problem:
            return problem


def _check_single_writer(sink: Sink, query: Query, catalog: Catalog) -> None:
    path = Path(sink.address.rest)
    others = [q for q in catalog.users(sink) if q.lower() != query.name.lower()]
    if path.suffix in connector(sink.address).file_endings and others:
        raise RunError(
            f"sink {sink.name} is the single file {sink.address.rest}, and query {others[0]} already writes it\n"
            f"help: use a folder, as '{sink.address.kind}:{path.with_suffix('')}'"
        )
