"""The engine: a Spark session, and the queries and listeners that run with it."""

from __future__ import annotations

import contextlib
import itertools
import threading
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query, Select, Sink, Stream
from millstream.catalog.settings import Settings
from millstream.connectors.facts import expected_tasks, facts_of
from millstream.connectors.place import QueryPlace
from millstream.connectors.registry import connector
from millstream.connectors.sinks import open_sinks
from millstream.connectors.text import readable
from millstream.errors import MillstreamError, RunError, suggest
from millstream.history.moments import Bound
from millstream.mill.fed_columns import check_fed
from millstream.mill.hosting import Hosts
from millstream.mill.listeners import Listeners
from millstream.mill.manner import Manner
from millstream.mill.pass_over import pass_over
from millstream.mill.prepared import Prepared, Ready
from millstream.mill.query_record import QueryRecord
from millstream.mill.readers import Readers
from millstream.mill.reports.analysis import Analysis
from millstream.mill.reports.analyze import analyze_stream, analyze_table
from millstream.mill.running import RunningQuery, has_started
from millstream.mill.standing.templates import Templates
from millstream.mill.starts import starts_of
from millstream.mill.stored.definitions import Definitions
from millstream.mill.stored_rows import Kept, StoredRows
from millstream.plan.algebra import Node
from millstream.plan.build import build
from millstream.plan.column_origins import fingerprints, has_state, holds_back
from millstream.plan.fed_streams import with_feeds
from millstream.plan.passes import apply_passes
from millstream.plan.passes.inline_relations import inline_relations
from millstream.plan.physical import physical
from millstream.plan.physical.answer_here import AnswerHere
from millstream.plan.physical.choose_buckets import bucket_count
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.observe_steps import observe_steps
from millstream.plan.physical.place_partials import reduces
from millstream.plan.reads import histories_of, sources_of, streams_of
from millstream.plan.whole_windows import answer_whole_windows
from millstream.spark.buckets import task_count
from millstream.spark.host import Host
from millstream.spark.lower.lowering import lower
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure, told_in_a_sentence
from millstream.spark.process.leftovers import hold, new_folder, remove
from millstream.spark.process.session import open_session
from millstream.spark.run.progress import Counts, ProgressListener
from millstream.spark.run.query import Clocks, Timing, start
from millstream.spark.run.ship_classes import ship_classes
from millstream.spark.run.silent_inputs import quiet_streams
from millstream.spark.run.ticker import pace_of
from millstream.spark.stage.local_copy import claim_copies

KEPT = Sink("results", Address("memory", ""))
"""Where the rows of a CREATE QUERY go."""


@dataclass(frozen=True)
class Place:
    """Where an engine works: its Spark, and the folder that relative addresses start from.

    With `once`, queries end when they have read what is there. `shares`: whether queries may have a reading together.
    """

    base: Path
    master: str | None = None
    conf: Mapping[str, str] | None = None
    once: bool = False
    shares: bool = True


class Engine:
    """Starts queries from their plans, and knows those that run and those that have ended."""

    def __init__(self, place: Place, definitions: Definitions) -> None:
        self._place = place
        self.home, self.definitions = definitions.home, definitions
        self.stored = StoredRows(self.home)
        self.listeners = Listeners(self.home, listens=not place.once)
        self.readers = Readers(self.home, place.once, self.fail_readers)
        self.queries: dict[str, RunningQuery] = {}
        self.hosts = Hosts(self)
        self.timing = Timing()
        self.failures: dict[str, str] = {}
        self._forgotten: weakref.WeakSet[RunningQuery] = weakref.WeakSet()
        self._id = uuid.uuid4().hex[:8]
        self.templates = Templates(self._defined_templates, durable=not self.home.temporary)
        self._runs = itertools.count(1)
        self._selects = itertools.count(1)
        self._written: dict[str, set[str]] = {}
        self._temporary: Path | None = None
        self._spark: SparkSession | None = None
        self._progress: ProgressListener | None = None
        self._opening = threading.Lock()
        self._closed = False

    @property
    def catalog(self) -> Catalog:
        """The catalog in force."""
        return self.definitions.catalog

    @property
    def base(self) -> Path:
        """The folder that relative addresses start from, unless a session has another one."""
        return self._place.base

    @property
    def once(self) -> bool:
        """Whether queries end when they have read what is there."""
        return self._place.once

    @property
    def shares(self) -> bool:
        """Whether queries may have a reading together here."""
        return self._place.shares

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self._closed

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

    def plan(self, asked: Select | Query, catalog: Catalog | None = None) -> Node:
        """The plan of a SELECT or of a query, in the catalog in force or in another one."""
        return apply_passes(build(asked), catalog or self.catalog)

    def physical(self, asked: Select | Query, settings: Settings, catalog: Catalog | None = None) -> Node:
        """The physical plan of a SELECT or of a query, as it would be carried out here."""
        return physical(self._fed(self.plan(asked, catalog)), self.facts(asked, settings))

    def _fed(self, plan: Node) -> Node:
        """A plan whose streams without a source read what is put into them."""
        folder = self.home.feed_folder

        def place(stream: Stream) -> Address:
            return Address("parquet", str(self.stored.feed(folder(stream.name)).folder))

        return with_feeds(plan, place)

    def facts(self, asked: Select | Query, settings: Settings) -> Facts:
        """What physical plans depend on besides the query."""
        return replace(
            facts_of(self._place.base, settings.direct),
            tasks=self._tasks,
            set_buckets=settings.buckets,
            kept_buckets=self.home.kept_buckets(asked.name) if isinstance(asked, Query) else None,
        )

    def told_of_sharing(self, asked: Select | Query, settings: Settings, catalog: Catalog | None = None) -> str:
        """A line of EXPLAIN: whether others read a stream together with a query; nothing of one over tables."""
        select = asked if isinstance(asked, Select) else asked.select
        if select.bounded:
            return ""
        query = asked if isinstance(asked, Query) else Query("", asked, None, "")
        return f"\n{self.hosts.note(query, self.plan(asked, catalog), settings)}"

    @contextlib.contextmanager
    def frame(self, select: Select, settings: Settings, catalog: Catalog | None = None) -> Iterator[DataFrame]:
        """The rows of a bounded SELECT, as a frame of Spark; histories stay as they are while it is read."""
        with self._framed(self.physical(select, settings, catalog)) as frame:
            yield frame

    @contextlib.contextmanager
    def _framed(self, plan: Node) -> Iterator[DataFrame]:
        histories = histories_of(plan)
        self.land(histories)
        try:
            with self.readers.pinned() if histories else contextlib.nullcontext():
                yield lower(plan, self._host())
        except AnalysisException as problem:
            raise RunError(f"Spark refused the query: {explain_failure(problem)}") from problem

    def rows(self, select: Select, settings: Settings, catalog: Catalog | None = None) -> pa.Table:
        """The rows of a bounded SELECT: those of a view from memory, where that gives the same, else by Spark."""
        plan = self.physical(select, settings, catalog)
        if isinstance(plan, AnswerHere):
            return plan.rows(self.stored.view(plan.view).table())
        with self._framed(plan) as frame:
            return readable(frame).toArrow()

    def analyze(self, asked: Select | Query, settings: Settings, catalog: Catalog | None = None) -> Analysis:
        """Run a SELECT or a query over what is there, and tell what its steps did; its rows go nowhere."""
        select = asked if isinstance(asked, Select) else asked.select
        logical = self.plan(asked, catalog)
        self.land([*streams_of(logical), *histories_of(logical)])
        plan = observe_steps(physical(self._fed(logical), replace(self.facts(asked, settings), kept_buckets=None)))
        host = self._host()
        try:
            if select.bounded:
                return analyze_table(plan, host)
            query = asked if isinstance(asked, Query) else Query("analyzed", select, None, "")
            assert self._progress is not None  # noqa: S101  (opened with the session)
            return analyze_stream(query, logical, plan, host, self._progress)
        except AnalysisException as problem:
            raise RunError(f"Spark refused the query: {explain_failure(problem)}") from problem

    def account(self, query: Query) -> Analysis:
        """What the steps of a running query have done so far."""
        running = self.query(query.name)
        return Analysis(self.physical(query, running.manner.settings), running.counts)

    # -- starting and stopping -----------------------------------------------------------------------------

    def prepare(self, query: Query, catalog: Catalog | None = None) -> Prepared:
        """Look whether a query can be started; nothing is changed by that."""
        catalog = catalog or self.catalog
        plan = self.plan(query, catalog)
        self.listeners.check(streams_of(plan))
        sinks = [sink for name in query.sinks if (sink := catalog.sink(name))] or [KEPT]
        if query.into is not None:
            sinks = [Sink(query.into, Address("fed", str(self.home.feed_folder(query.into))))]
        for sink in sinks:
            _check_single_writer(sink, query, catalog)
        return Prepared(query, plan, sinks, QueryRecord(sources_of(plan), fingerprints(plan), query.text))

    def check_state(self, prepared: Prepared) -> None:
        """Refuse a query that would not go on from what it has left."""
        name = prepared.query.name
        if (record := self.home.record_of(name)) is not None:
            record.check(name, prepared.record, self.home.query_folder(name))

    def run(self, ready: Ready) -> RunningQuery:
        """Start a query, from its checkpoint if there is one."""
        (outcome,) = self.start([ready])
        return has_started(outcome)

    def start(self, ready: Sequence[Ready], despite: bool = False) -> Iterator[RunningQuery | MillstreamError]:
        """Start queries in their order, each from its checkpoint if there is one; some may read their stream together.

        The first one that cannot be started is the last, unless the others are to be started `despite` that.
        """
        together = {number: group for group in self.hosts.companies(ready) for number in group}
        done: dict[int, RunningQuery | MillstreamError] = {}
        for number, one in enumerate(ready):
            if number not in together:
                outcome = self._outcome(one)
            else:
                if number not in done:
                    group = together[number]
                    done.update(zip(group, self.hosts.start([ready[each] for each in group], despite), strict=False))
                outcome = done[number]
            yield outcome
            if isinstance(outcome, MillstreamError) and not despite:
                return

    def know(self, running: RunningQuery) -> RunningQuery:
        """Know a query that has been started."""
        name = running.name.lower()
        self.queries[name] = running
        self.failures.pop(name, None)
        if (lost := self.readers.failure(running.streams)) is not None:
            running.give_up(str(lost))  # before it was known who reads the stream
        return running

    def let_go(self, ready: Ready) -> None:
        """What ran under the name of a query that is to be started has ended, and lets go of what it held."""
        if (earlier := self.queries.get(ready.name.lower())) is not None:
            with contextlib.suppress(RunError):
                earlier.stop(closing=ready.results is None)

    def _outcome(self, ready: Ready) -> RunningQuery | MillstreamError:
        try:
            with told_in_a_sentence():
                return self._run_alone(ready)
        except MillstreamError as problem:
            return problem

    def _run_alone(self, ready: Ready) -> RunningQuery:
        prepared, query = ready.prepared, ready.prepared.query
        if self.once:
            self._wait_for_feeds(prepared.plan)
        self.land(streams_of(prepared.plan))
        self.let_go(ready)
        place = self.home.query_place(query.name, prepared.record)
        try:
            starts = starts_of(query, place, streams_of(prepared.plan), self.readers)
            prepared = replace(prepared, plan=self._of_whole_windows(query, prepared.plan, starts))
            running = self._started(prepared, place, ready.manner, ready.results, starts)
        except BaseException:
            self.templates.forget(query.name)
            self.home.undo(place)
            raise
        return self.know(running)

    def _wait_for_feeds(self, plan: Node) -> None:
        """What is there to be read once is there when those have ended that put it there."""
        fed = {stream.name.lower() for stream in streams_of(plan) if stream.source is None}
        for query in list(self.queries.values()):
            if (query.definition.into or "").lower() in fed:
                with contextlib.suppress(RunError):  # which is told of that query
                    query.wait()

    def run_unnamed(self, query: Query, manner: Manner, catalog: Catalog) -> RunningQuery:
        """Start a query that leaves nothing behind when it has ended: it has a temporary folder."""
        folder = self._temporary_folder / query.name
        folder.mkdir()
        place = QueryPlace(folder, uuid.uuid4().hex[:12], fresh=True, new=True)
        try:
            prepared = self.prepare(query, catalog)
            if self.once:
                self._wait_for_feeds(prepared.plan)
            self.land(streams_of(prepared.plan))
            starts = starts_of(query, place, streams_of(prepared.plan), self.readers)
            prepared = replace(prepared, plan=self._of_whole_windows(query, prepared.plan, starts))
            running = self._started(prepared, place, manner, None, starts)
        except BaseException:
            self.home.undo(place)
            raise
        running.is_temporary = True
        self.hosts.reasons[query.name.lower()] = "a SELECT without a name leaves nothing behind"
        self.queries[query.name.lower()] = running
        return running

    def pass_over(self, prepared: Prepared, manner: Manner) -> None:
        """Bring a new query to the end of what its sources hold, without a row of it."""
        query, plan = prepared.query, prepared.plan
        place = self.home.query_place(query.name, prepared.record)
        host = self._host()
        host = replace(host, place=place if has_state(plan) else None)
        # Spark alone need not open what is passed over.
        carried_out = physical(self._fed(plan), replace(self.facts(query, manner.settings), arrow=False))
        assert self._progress is not None  # noqa: S101  (opened with the session)
        label = f"{self._id}.{query.name}.{next(self._runs)}"
        pass_over(query, carried_out, place, host, self._progress, label, manner)

    def restart(self, name: str, manner: Manner | None = None, results: Kept | None = None) -> RunningQuery:
        """Start a query again that has ended, from its checkpoint; its counts go on.

        If it was the host that ended, all members that ended with it are started again.
        """
        earlier = self.query(name)
        if earlier.is_active:
            raise RunError(f"query {earlier.name} runs")
        if earlier.is_temporary:
            raise RunError(f"{earlier.name} has left nothing to go on from\nhelp: run the SELECT again")
        again = [
            Ready(
                self.prepare(self.catalog.query(one.name) or one.definition),
                (manner or one.manner) if one is earlier else one.manner,
                results if one is earlier else None,
            )
            for one in self.hosts.ended_with(earlier)
        ]
        before = {one.name.lower(): self.queries[one.name.lower()].counts for one in again}
        problem = None
        for one, outcome in zip(again, self.start(again, despite=True), strict=True):
            if isinstance(outcome, RunningQuery):
                outcome.counts.go_on_from(before[one.name.lower()])
            elif one.name.lower() == earlier.name.lower():
                problem = outcome
        if problem is not None:
            raise problem
        return self.query(name)

    def remove(self, query: Query) -> None:
        """Stop a query for good, and forget what it had kept."""
        running = self.queries.get(query.name.lower())
        if running:
            self.hosts.forget(running)
            running.stop()
            running.disown(self._written)
            self.queries.pop(query.name.lower(), None)
        self.templates.forget(query.name)
        self.failures.pop(query.name.lower(), None)
        self.hosts.reasons.pop(query.name.lower(), None)
        if running is None or not running.is_temporary:
            self.stored.forget(query)
            self.home.forget_query(query.name)

    def forget_unnamed(self, query: RunningQuery) -> None:
        """Stop a query without a name, and leave nothing of it; who holds it can still look at what it did."""
        with contextlib.suppress(RunError):
            query.stop()
        if self.queries.get(query.name.lower()) is query:
            del self.queries[query.name.lower()]
            self.definitions.hide(query.definition)
        self._forgotten.add(query)

    @property
    def all_queries(self) -> tuple[RunningQuery, ...]:
        """All queries that run or have ended here; of those without a name, the ones that somebody still holds."""
        return (*self.queries.values(), *self._forgotten)

    def open(self, stream: Stream) -> str:
        """Let rows of a stream come in, if they are pushed or kept, and say so."""
        if stream.source is None:
            check_fed(stream, self.home.feed_folder(stream.name))
        note = self.listeners.open(stream, self.fail_readers)
        if stream.keep is not None:
            try:
                self.land([stream])
            except BaseException:
                self.listeners.close(stream)
                self.readers.close(stream)
                raise
        return note

    def close_stream(self, stream: Stream) -> None:
        """Let no more rows of a stream come in; what was kept of it stays."""
        self.listeners.close(stream)
        self.readers.close(stream)

    def land(self, streams: Iterable[Stream]) -> None:
        """Let the readers of kept streams run; where queries run once, these have landed what is there then."""
        if kept := {stream.name: stream for stream in streams if stream.keep is not None}:
            host = self._host()
            assert self._progress is not None  # noqa: S101  (opened with the session)
            self.readers.run(kept.values(), lambda: replace(host, once=self._place.once), self._progress)

    def _defined_templates(self) -> list[str]:
        return [query.name for query in self.catalog.all(Query) if query.parameters is not None]

    def new_name(self) -> str:
        """A name for a SELECT that has none."""
        while True:
            name = f"select_{next(self._selects)}"
            if self.catalog.query(name) is None:
                return name

    def look_at_failures(self) -> None:
        """Free the names of queries that failed before they did anything."""
        nothing = [query.definition for query in list(self.queries.values()) if query.came_to_nothing]
        if [query for query in nothing if self.catalog.holds(query)]:
            self.definitions.let_go(nothing)

    def fail_readers(self, stream: str, problem: RunError) -> None:
        """End the queries over a stream that nothing comes into any more: they would wait for ever, and say nothing."""
        waiting = [query for query in list(self.queries.values()) if stream in query.streams and query.is_active]
        with contextlib.suppress(*SPARK_ERRORS, RunError):
            self.hosts.halt(waiting)
        for query in waiting:
            if query.failure is None:
                with contextlib.suppress(*SPARK_ERRORS):  # it ended by itself meanwhile
                    query.give_up(str(problem))

    def wait(self) -> None:
        """Wait for all queries to end; the failures of all of them are raised together."""
        failures = []
        self.templates.let_go()
        for query in list(self.queries.values()):
            try:
                query.wait()
            except RunError as problem:
                failures.append(str(problem))
        if failures:
            raise RunError("\n".join(failures))

    def stop(self) -> None:
        """Stop all queries, of those that share a reading all at once."""
        running = list(self.queries.values())
        with contextlib.suppress(*SPARK_ERRORS, RunError):
            self.hosts.halt(running)
        for query in running:
            with contextlib.suppress(*SPARK_ERRORS, RunError):
                query.stop()

    def close(self) -> None:
        """Stop all queries and listeners. The Spark session stays for others in this process."""
        self._closed = True
        self.stop()
        self.readers.stop()
        self.templates.close()
        self.listeners.stop()
        if self._temporary is not None:
            remove(self._temporary)
        if self._progress is not None:
            with contextlib.suppress(*SPARK_ERRORS):  # Spark's process may be gone
                self._progress.stop()

    # -- how a query starts --------------------------------------------------------------------------------

    @property
    def _tasks(self) -> int | None:
        if self._spark is not None:
            return task_count(self._spark)
        return expected_tasks(self._place.master, self._place.conf or {})

    @property
    def _temporary_folder(self) -> Path:
        """Where queries without a name have their places."""
        with self._opening:
            if self._temporary is None:
                self._temporary = new_folder()
                self._temporary_lock = hold(self._temporary)
            return self._temporary

    def _host(self) -> Host:
        ship_classes(self.catalog)
        return Host(
            self.spark,
            self._place.base,
            self.home.log_of,
            written=self._written,
            history_of=self.home.history_of,
            stored=self.stored,
        )

    def host_for(self, place: QueryPlace) -> Host:
        """What lowering needs to know for queries that keep their progress in one place."""
        return replace(self._host(), place=place, once=self._place.once)

    def follow(self, name: str, counts: Counts) -> str:
        """The name for Spark under which a query is counted that is about to start."""
        _ = self.spark
        assert self._progress is not None  # noqa: S101  (opened with the session)
        label = f"{self._id}.{name}.{next(self._runs)}"
        self._progress.follow(label, counts)
        return label

    def _started(
        self,
        prepared: Prepared,
        place: QueryPlace,
        manner: Manner,
        results: Kept | None,
        starts: Mapping[str, Bound],
    ) -> RunningQuery:
        query, plan = prepared.query, prepared.plan
        host = replace(self._host(), starts=starts)
        host = replace(host, place=place if has_state(plan) else None, once=self._place.once)
        assert self._progress is not None  # noqa: S101  (opened with the session)
        label = f"{self._id}.{query.name}.{next(self._runs)}"
        counts = self._progress.follow(label)
        try:
            running = self._begun(prepared, place, host, label, counts, manner, results)
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
        prepared: Prepared,
        place: QueryPlace,
        host: Host,
        label: str,
        counts: Counts,
        manner: Manner,
        earlier: Kept | None,
    ) -> RunningQuery:
        query, plan, settings = prepared.query, self._fed(prepared.plan), manner.settings
        carried_out = physical(plan, self.facts(query, settings))
        template = None
        if query.parameters is not None:
            template = self.templates.open(query, place, carried_out, waits=self._place.once)
            host = replace(host, registrations=template.log)
        frame = lower(carried_out, host)
        schema = to_arrow_schema(readable(frame).schema, timezone="UTC")
        if template is not None:
            schema = template.keep_answers(place, schema, settings.results_kept)
        results = None
        if connector(prepared.sinks[0].address).kept:
            results = self.stored.open(query, schema, settings.results_kept, place, earlier)

        def deliver(table: pa.Table, batch: int) -> None:
            if template is not None:
                table = template.share_out(table)
            if results is not None:
                results.add(table, batch)
            else:
                manner.display(query.name, table)

        found = (self.readers.find(stream.name) for stream in streams_of(plan) if stream.keep is not None)
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
            clocks=Clocks(pace_of(plan), quiet_streams(plan), settings.heartbeats, holds_back(plan), logs),
            streams=streams_of(plan),
            reduces=reduces(carried_out),
            buckets=bucket_count(carried_out),
            timing=self.timing,
            before=None if template is None else template.begin,
        )
        return RunningQuery(query, handle, counts, results, place, manner, prepared.streams, readers, template)

    def _of_whole_windows(self, query: Query, plan: Node, starts: Mapping[str, Bound]) -> Node:
        """The plan without the answers of windows that had begun before the query did."""
        begins = {stream: start.whole for stream, start in starts.items() if start.whole is not None}
        if not begins:
            return plan
        return apply_passes(answer_whole_windows(inline_relations(build(query), self.catalog), begins), self.catalog)


def _check_single_writer(sink: Sink, query: Query, catalog: Catalog) -> None:
    path = Path(sink.address.rest)
    others = [q for q in catalog.users(sink) if q.lower() != query.name.lower()]
    if path.suffix in connector(sink.address).file_endings and others:
        raise RunError(
            f"sink {sink.name} is the single file {sink.address.rest}, and query {others[0]} already writes it\n"
            f"help: use a folder, as '{sink.address.kind}:{path.with_suffix('')}'"
        )
