"""The engine: a Spark session, and the queries and listeners that run with it."""

from __future__ import annotations

import contextlib
import itertools
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query, Select, Sink
from millstream.catalog.settings import Settings
from millstream.connectors.facts import facts_of
from millstream.connectors.place import QueryPlace
from millstream.connectors.registry import connector
from millstream.connectors.text import readable
from millstream.errors import RunError, suggest
from millstream.mill.analysis import Analysis
from millstream.mill.analyze import analyze_stream, analyze_table
from millstream.mill.home import Home
from millstream.mill.listeners import Listeners
from millstream.mill.query_record import QueryRecord
from millstream.mill.results import Results
from millstream.mill.running import RunningQuery
from millstream.plan.algebra import Node
from millstream.plan.buckets import bucket_count
from millstream.plan.build import build
from millstream.plan.column_origins import fingerprints, has_state, holds_back
from millstream.plan.passes import apply_passes
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.observe_steps import observe_steps
from millstream.plan.physical.place_partials import reduces
from millstream.plan.reads import sources_of, streams_of
from millstream.spark.buckets import task_count
from millstream.spark.host import Host
from millstream.spark.lower.lowering import lower
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure
from millstream.spark.process.session import open_session
from millstream.spark.run.progress import Counts, ProgressListener
from millstream.spark.run.query import Clocks, start
from millstream.spark.run.ship_classes import ship_classes
from millstream.spark.run.silent_inputs import quiet_streams
from millstream.spark.run.ticker import pace_of
from millstream.spark.stage.local_copy import claim_copies

Display = Callable[[str, pa.Table], None]
"""Shows the rows that a query sends to the terminal."""

KEPT = Sink("results", Address("memory", ""))
"""Where the rows of a CREATE QUERY go."""


@dataclass(frozen=True)
class Place:
    """Where an engine works: its Spark, the folder that relative addresses start from, who sees rows.

    With `once`, queries end when they have read what is there.
    """

    base: Path
    master: str | None = None
    conf: Mapping[str, str] | None = None
    once: bool = False
    display: Display = field(kw_only=True)


class Engine:
    """Starts queries from their plans, and knows those that run and those that have ended."""

    def __init__(self, place: Place, home: Home, catalog: Catalog, settings: Settings) -> None:
        self._place = place
        self.home, self.catalog, self.settings = home, catalog, settings
        self.listeners = Listeners(home, listens=not place.once)
        self.queries: dict[str, RunningQuery] = {}
        self._id = uuid.uuid4().hex[:8]
        self._runs = itertools.count(1)
        self._selects = itertools.count(1)
        self._written: dict[str, set[str]] = {}
        self._reads: dict[str, set[str]] = {}
        self._spark: SparkSession | None = None
        self._progress: ProgressListener | None = None
        self._opening = threading.Lock()
        self._closed = False

    @property
    def has_spark(self) -> bool:
        """Whether Spark has been started."""
        return self._spark is not None

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started when it is first needed."""
        with self._opening:
            if self._spark is None:
                if self._closed:
                    raise RunError("this connection is closed")
                self._spark = open_session(self._place.master, self._place.conf, self.home.spark_log)
                self._progress = ProgressListener(self._spark)
            return self._spark

    def query(self, name: str) -> RunningQuery:
        """The running query of that name."""
        found = self.queries.get(name.lower())
        if found is None:
            known = [query.name for query in self.queries.values()]
            raise RunError(f"no query '{name}' runs: {suggest(name, known) or 'none does'}")
        return found

    def plan(self, asked: Select | Query) -> Node:
        """The plan of a SELECT or of a query."""
        return apply_passes(build(asked), self.catalog)

    def physical(self, asked: Select | Query) -> Node:
        """The physical plan of a SELECT or of a query, as it would be carried out here."""
        return physical(self.plan(asked), self._facts)

    def frame(self, select: Select) -> DataFrame:
        """The rows of a bounded SELECT, as a frame of Spark."""
        try:
            return lower(self.physical(select), self._host())
        except AnalysisException as problem:
            raise RunError(f"Spark refused the query: {explain_failure(problem)}") from problem

    def analyze(self, asked: Select | Query) -> Analysis:
        """Run a SELECT or a query over what is there, and tell what its steps did; its rows go nowhere."""
        select = asked if isinstance(asked, Select) else asked.select
        logical = self.plan(asked)
        plan = observe_steps(physical(logical, self._facts))
        host = self._host()
        try:
            if select.bounded:
                return analyze_table(plan, host)
            query = asked if isinstance(asked, Query) else Query("analyzed", select, None, "")
            buckets = bucket_count(logical, task_count(host.spark), self.settings.buckets)
            assert self._progress is not None  # noqa: S101  (opened with the session)
            return analyze_stream(query, logical, plan, replace(host, buckets=buckets), self._progress)
        except AnalysisException as problem:
            raise RunError(f"Spark refused the query: {explain_failure(problem)}") from problem

    def account(self, query: Query) -> Analysis:
        """What the steps of a running query have done so far."""
        return Analysis(self.physical(query), self.query(query.name).counts)

    # -- starting and stopping -----------------------------------------------------------------------------

    def run(self, query: Query) -> RunningQuery:
        """Start a query, from its checkpoint if there is one."""
        plan = self.plan(query)
        self.listeners.check(streams_of(plan))
        if (earlier := self.queries.get(query.name.lower())) is not None:
            with contextlib.suppress(RunError):  # it has ended, and lets go of what it held
                earlier.stop()
        sinks = [sink for name in query.sinks if (sink := self.catalog.sink(name))] or [KEPT]
        for sink in sinks:
            self._check_single_writer(sink, query)
        record = QueryRecord(sources_of(plan), fingerprints(plan), query.text)
        place = self.home.query_place(query.name, record)
        try:
            running = self._started(query, plan, sinks, place)
        except BaseException:
            self.home.undo(place)
            raise
        self.queries[query.name.lower()] = running
        self._reads[query.name] = {stream.name for stream in streams_of(plan)}
        self.catalog.add(query)
        return running

    def restart(self, name: str) -> RunningQuery:
        """Start a query again that has ended, from its checkpoint; its counts go on."""
        earlier = self.query(name)
        if earlier.is_active:
            raise RunError(f"query {earlier.name} runs")
        running = self.run(earlier.definition)
        running.counts.go_on_from(earlier.counts)
        return running

    def remove(self, query: Query) -> None:
        """Stop a query for good, and forget what it had kept."""
        running = self.queries.pop(query.name.lower(), None)
        if running:
            running.stop()
            running.disown(self._written)
        self.home.forget_query(query.name)

    def new_name(self) -> str:
        """A name for a SELECT that has none."""
        return f"select_{next(self._selects)}"

    def look_at_failures(self) -> None:
        """Free the names of queries that failed before they did anything."""
        self.catalog.let_go([query.definition for query in self.queries.values() if query.came_to_nothing])

    def fail_readers(self, stream: str, problem: RunError) -> None:
        """End the queries over a stream that nothing comes into any more: they would wait for ever, and say nothing."""
        for query in list(self.queries.values()):
            if stream in self._reads.get(query.name, ()) and query.is_active:
                with contextlib.suppress(*SPARK_ERRORS):  # it ended by itself meanwhile
                    query.give_up(str(problem))

    def wait(self) -> None:
        """Wait for all queries to end; the failures of all of them are raised together."""
        failures = []
        for query in list(self.queries.values()):
            try:
                query.wait()
            except RunError as problem:
                failures.append(str(problem))
        if failures:
            raise RunError("\n".join(failures))

    def close(self) -> None:
        """Stop all queries and listeners. The Spark session stays for others in this process."""
        self._closed = True
        for query in self.queries.values():
            with contextlib.suppress(*SPARK_ERRORS, RunError):
                query.stop()
        self.listeners.stop()
        if self._progress is not None:
            with contextlib.suppress(*SPARK_ERRORS):  # Spark's process may be gone
                self._progress.stop()

    # -- how a query starts --------------------------------------------------------------------------------

    @property
    def _facts(self) -> Facts:
        return facts_of(self._place.base, self.settings.direct)

    def _host(self) -> Host:
        ship_classes(self.catalog)
        return Host(self.spark, self._place.base, self.home.log_of, written=self._written)

    def _started(self, query: Query, plan: Node, sinks: Sequence[Sink], place: QueryPlace) -> RunningQuery:
        host = self._host()
        buckets = bucket_count(plan, task_count(host.spark), self.settings.buckets)
        host = replace(host, place=place if has_state(plan) else None, buckets=buckets, once=self._place.once)
        assert self._progress is not None  # noqa: S101  (opened with the session)
        label = f"{self._id}.{query.name}.{next(self._runs)}"
        counts = self._progress.follow(label)
        try:
            running = self._begun(query, plan, sinks, place, host, label, counts)
        except AnalysisException as problem:
            counts.let_go()
            raise RunError(f"Spark refused query {query.name}: {explain_failure(problem)}") from problem
        except BaseException:
            counts.let_go()
            raise
        if host.place is not None:
            claim_copies(place.id)
        return running

    def _begun(
        self,
        query: Query,
        plan: Node,
        sinks: Sequence[Sink],
        place: QueryPlace,
        host: Host,
        label: str,
        counts: Counts,
    ) -> RunningQuery:
        carried_out = physical(plan, self._facts)
        frame = lower(carried_out, host)
        schema = to_arrow_schema(readable(frame).schema, timezone="UTC")
        results = Results(schema, self.settings.results_kept) if connector(sinks[0].address).kept else None

        def deliver(table: pa.Table) -> None:
            if results is not None:
                results.add(table)
            else:
                self._place.display(query.name, table)

        handle = start(
            host,
            frame,
            sinks,
            place,
            deliver,
            counts,
            name=label,
            trigger=self.settings.trigger_interval,
            clocks=Clocks(pace_of(plan), quiet_streams(plan), self.settings.heartbeats, holds_back(plan)),
            streams=streams_of(plan),
            reduces=reduces(carried_out),
        )
        return RunningQuery(query, handle, counts, results, place)

    def _check_single_writer(self, sink: Sink, query: Query) -> None:
        path = Path(sink.address.rest)
        others = [q for q in self.catalog.users(sink) if q != query.name]
        if path.suffix in connector(sink.address).file_endings and others:
            raise RunError(
                f"sink {sink.name} is the single file {sink.address.rest}, and query {others[0]} already writes it\n"
                f"help: use a folder, as '{sink.address.kind}:{path.with_suffix('')}'"
            )
