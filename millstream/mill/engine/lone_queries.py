"""Starts queries that run by themselves: each is one Spark query, with a checkpoint of its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.registry import connector
from millstream.connectors.sinks import open_sinks
from millstream.connectors.writing.text import readable
from millstream.errors import RunError
from millstream.history.moments import Bound
from millstream.mill.engine.planner import Planner
from millstream.mill.engine.prepared_query import PreparedQuery, ReadyQuery
from millstream.mill.engine.query_registry import QueryRegistry
from millstream.mill.engine.run_unheard import run_unheard
from millstream.mill.engine.running import RunningQuery
from millstream.mill.engine.runtime import Runtime
from millstream.mill.engine.starts import begun_anew, starts_of
from millstream.mill.home.home import Home
from millstream.mill.manner import Manner
from millstream.mill.standing.templates import Templates
from millstream.mill.stored.stored_rows import RowStore
from millstream.mill.streams.open_streams import OpenStreams
from millstream.plan.algebra import Node
from millstream.plan.column_origins import has_state, holds_back
from millstream.plan.physical.choose_buckets import bucket_count
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.place_partials import reduces
from millstream.plan.reads import streams_of
from millstream.spark.host import Host
from millstream.spark.lower.feed_lowering import lower_feeder
from millstream.spark.lower.lowering import lower
from millstream.spark.process.failures import explain_failure
from millstream.spark.run.progress import Counts
from millstream.spark.run.query import Clocks, start
from millstream.spark.run.silent_inputs import find_silent_inputs
from millstream.spark.run.ticker import pace_of
from millstream.spark.stage.local_copy import claim_copies


@dataclass(frozen=True)
class LoneQueries:
    """Starts queries that run by themselves."""

    home: Home
    runtime: Runtime
    planner: Planner
    streams: OpenStreams
    queries: QueryRegistry
    templates: Templates

    def start(self, ready: ReadyQuery) -> RunningQuery:
        """Start a query, from its checkpoint if there is one."""
        prepared, query = ready.prepared, ready.prepared.query
        self._fill_sources(prepared.plan)
        self.queries.let_go(ready)
        place = self.home.query_place(query.name, prepared.record)
        try:
            running = self._start_at(place, prepared, ready.manner, ready.results)
        except BaseException:
            self.templates.forget(query.name)
            if place.new:
                self.runtime.stored.forget(query)
            self.home.undo(place)
            raise
        return self.queries.know(running)

    def start_unnamed(self, prepared: PreparedQuery, manner: Manner) -> RunningQuery:
        """Start a query that leaves nothing behind when it has ended: it has a temporary folder."""
        query = prepared.query
        folder = self.runtime.temporary_folder / query.name
        folder.mkdir()
        place = QueryPlace(folder, uuid.uuid4().hex[:12], fresh=True, new=True)
        try:
            self._fill_sources(prepared.plan)
            running = self._start_at(place, prepared, manner, None)
        except BaseException:
            self.home.undo(place)
            raise
        running.is_temporary = True
        self.queries.alone[query.name.lower()] = "a SELECT without a name leaves nothing behind"
        self.queries.by_name[query.name.lower()] = running
        return running

    def pass_over(
        self, prepared: PreparedQuery, manner: Manner, place: QueryPlace, starts: Mapping[str, Bound]
    ) -> None:
        """Bring a query that has yet to begin to the end of what its sources hold, without a row of it."""
        # Spark alone need not open what is passed over.
        facts = replace(self.planner.facts(prepared.query, manner.settings), arrow=False)
        self._run_unheard(prepared, manner, place, replace(self.runtime.host(), starts=starts, passes_over=True), facts)

    def fill(
        self,
        prepared: PreparedQuery,
        manner: Manner,
        place: QueryPlace,
        starts: Mapping[str, Bound],
        stops: Mapping[str, int],
    ) -> None:
        """Bring a query that has yet to begin to some positions of the histories that it reads."""
        plan = self.planner.with_whole_windows(prepared.query, prepared.plan, starts)
        host = replace(self.runtime.host(), starts=starts, stops=stops)
        facts = self.planner.facts(prepared.query, manner.settings)
        self._run_unheard(replace(prepared, plan=plan), manner, place, host, facts)

    def _run_unheard(
        self, prepared: PreparedQuery, manner: Manner, place: QueryPlace, host: Host, facts: Facts
    ) -> None:
        query, plan = prepared.query, prepared.plan
        host = replace(host, place=place if has_state(plan) else None, once=True)
        physical = self.planner.choose_physical(plan, replace(facts, kept_buckets=len(place.load("buckets")) or None))
        try:
            run_unheard(query, physical, place, host, self.runtime.progress, self.runtime.label(query.name), manner)
        except AnalysisException as problem:
            raise RunError(f"Spark refused query {query.name}: {explain_failure(problem)}") from problem

    def _fill_sources(self, plan: Node) -> None:
        """Let what a query reads be there: what readers land, and in a bounded run what other queries put into it."""
        if self.runtime.place.once:
            self.queries.wait_for_feeders(streams_of(plan))
        self.streams.land(streams_of(plan))

    def _start_at(
        self, place: QueryPlace, prepared: PreparedQuery, manner: Manner, earlier: RowStore | None
    ) -> RunningQuery:
        query = prepared.query
        starts = starts_of(query, place, streams_of(prepared.plan), self.streams.readers)
        since = begun_anew(place, streams_of(prepared.plan))
        prepared = replace(prepared, plan=self.planner.with_whole_windows(query, prepared.plan, starts, since))
        return self.start_counted(prepared, place, manner, earlier, starts)

    def start_counted(
        self,
        prepared: PreparedQuery,
        place: QueryPlace,
        manner: Manner,
        earlier: RowStore | None,
        starts: Mapping[str, Bound],
    ) -> RunningQuery:
        """Start a query in its place, and count what it does."""
        query = prepared.query
        told = has_state(prepared.plan) or prepared.fed is not None
        host = replace(self.runtime.host_for(place if told else None), starts=starts, hold=place.hold)
        label = self.runtime.label(query.name)
        counts = self.runtime.progress.follow(label)
        try:
            running = self._start_in_spark(prepared, place, host, label, counts, manner, earlier)
        except AnalysisException as problem:
            counts.let_go()
            raise RunError(f"Spark refused query {query.name}: {explain_failure(problem)}") from problem
        except BaseException:
            counts.let_go()
            raise
        if host.place is not None:
            claim_copies(place.id)
        return running

    def _start_in_spark(
        self,
        prepared: PreparedQuery,
        place: QueryPlace,
        host: Host,
        label: str,
        counts: Counts,
        manner: Manner,
        earlier: RowStore | None,
    ) -> RunningQuery:
        query, plan, settings = prepared.query, self.planner.with_feeds(prepared.plan), manner.settings
        physical = self.planner.choose_physical(plan, self.planner.facts(query, settings))
        template = None
        if query.parameters is not None:
            template = self.templates.open(query, place, physical, waits=self.runtime.place.once)
            host = replace(host, registrations=template.log)
        if prepared.fed is None:
            frame = lower(physical, host)
        else:
            frame, parts = lower_feeder(plan, physical, prepared.fed, bucket_count(physical), host)
            host = replace(host, feeds=parts)
        schema = to_arrow_schema(readable(frame).schema, timezone="UTC")
        if template is not None:
            schema = template.keep_answers(place, schema, settings.results_kept)
        results = None
        if connector(prepared.sinks[0].address).kept:
            results = self.runtime.stored.open(query, schema, settings.results_kept, place, earlier)

        def deliver(table: pa.Table, batch: int) -> None:
            if template is not None:
                table = template.share_out(table)
            if results is not None:
                results.add(table, batch)
            else:
                manner.display(query.name, table)

        found = (self.streams.readers.find(stream.name) for stream in streams_of(plan) if stream.keep is not None)
        readers = [reader for reader in found if reader is not None]
        logs = {reader.stream.name: reader.tell for reader in readers}
        handle = start(
            host,
            frame,
            open_sinks(host, prepared.sinks, place, deliver),
            place,
            counts,
            name=label,
            trigger=settings.trigger_interval,
            clocks=Clocks(
                pace_of(plan),
                find_silent_inputs(plan, feeds=prepared.fed is not None),
                settings.heartbeats,
                holds_back(plan),
                logs,
                frozenset(stream.name for stream in streams_of(plan) if stream.fed),
                query.into,
            ),
            streams=streams_of(plan),
            reduces=reduces(physical),
            buckets=bucket_count(physical),
            timing=self.runtime.timing,
            before=None if template is None else template.begin,
        )
        return RunningQuery(query, handle, counts, results, place, manner, prepared.streams, readers, template)
