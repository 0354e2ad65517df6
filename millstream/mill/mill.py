"""The mill: carries out statements against one catalog and one Spark session."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial, singledispatchmethod
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.catalog.address import Address
from millstream.catalog.catalog import STDOUT, Catalog
from millstream.catalog.definitions import Definition, Query, Select, Sink, Stream, Table, UserAggregate
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.catalog.settings import Settings
from millstream.connectors.paths import absolute
from millstream.connectors.registry import connector, options_of
from millstream.connectors.sinks import QueryPlace
from millstream.connectors.tcp.limits import limits_of
from millstream.connectors.tcp.listener import TcpListener
from millstream.connectors.text import readable
from millstream.errors import MillstreamError, RunError, suggest
from millstream.language.binder import (
    Assignment,
    Bound,
    Define,
    Description,
    GeneratedCode,
    Listing,
    Plan,
    Reasons,
    Removal,
    Rows,
    Start,
    Store,
    bind,
)
from millstream.language.parser import statements
from millstream.language.trial.calls import below
from millstream.language.trial.pretend import pretend
from millstream.mill import describe
from millstream.mill.answers import Answer
from millstream.mill.home import Home
from millstream.mill.query_record import QueryRecord
from millstream.mill.results import Results
from millstream.mill.running import RunningQuery
from millstream.mill.text import csv_text
from millstream.mill.why_not import why_not
from millstream.plan.algebra import LateScan, Node, RejectedScan, Scan
from millstream.plan.buckets import bucket_count
from millstream.plan.build import build
from millstream.plan.explain import explain
from millstream.plan.kept_types import kept_types
from millstream.plan.passes import apply_passes
from millstream.plan.trace import holds_back, reduces, steps
from millstream.spark.buckets import task_count
from millstream.spark.host import Host
from millstream.spark.lower.lowering import lower
from millstream.spark.lower.try_calls import try_all
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure, told_in_a_sentence
from millstream.spark.process.session import open_session
from millstream.spark.run.progress import ProgressListener
from millstream.spark.run.query import Clocks, start
from millstream.spark.run.shipping import ship_classes
from millstream.spark.run.silence import quiet_streams
from millstream.spark.run.ticker import pace_of
from millstream.spark.stage.local_copy import claim_copies
from millstream.udas.bind.declare import adopt
from millstream.udas.generated.compiled import compile_aggregate
from millstream.udas.kernels.kernel import kernel_of
from millstream.udas.python.declared import add_folder

Display = Callable[[str, pa.Table], None]
"""Shows the rows that a query sends to the terminal."""

KEPT = Sink("results", Address("memory", ""))
"""Where the rows of a CREATE QUERY go."""


def print_rows(name: str, table: pa.Table) -> None:
    """Show rows as lines of CSV."""
    sys.stdout.write(csv_text(table))
    sys.stdout.flush()


class Mill:
    """One catalog, one Spark session, and the queries that run. Use it as a context manager, or call `close`.

    `checkpoint` is the folder that carries queries across restarts (None: a temporary one), `base` the folder
    that relative addresses start from. With `once`, queries end when they have read what is there. `master` and `conf`
    are for Spark; one that runs in this process already must have them. `display` shows the rows that queries send to
    the terminal.
    """

    def __init__(
        self,
        checkpoint: Path | str | None = None,
        *,
        master: str | None = None,
        base: Path | str = ".",
        once: bool = False,
        conf: Mapping[str, str] | None = None,
        display: Display = print_rows,
    ) -> None:
        self.catalog = Catalog()
        self.settings = Settings()
        self.home = Home(checkpoint)
        self.once = once
        self._base = Path(base).absolute()
        self._master = master
        self._conf = conf
        self._display = display
        self._id = uuid.uuid4().hex[:8]
        self._selects = itertools.count(1)
        self._runs = itertools.count(1)
        self._queries: dict[str, RunningQuery] = {}
        self._written: dict[str, set[str]] = {}
        self._listeners: dict[str, TcpListener] = {}
        self._reads: dict[str, set[str]] = {}
        self._spark: SparkSession | None = None
        self._progress: ProgressListener | None = None
        self._opening = threading.Lock()
        self._closed = False
        self._adopted = adopt(self.catalog, 0)
        add_folder(str(self._base))

    # -- for users -----------------------------------------------------------------------------------------

    def execute(self, text: str) -> list[Answer]:
        """Carry out every statement of a text, in order. Nothing is done if one of them is wrong."""
        self.try_out(self.ready(text), text)
        return list(self.answers(text))

    def answers(self, text: str, base: Path | str | None = None) -> Iterator[Answer]:
        """Carry out the statements of a text one by one, giving each answer when it is there.

        Relative addresses in it start from `base`, or from the connection's own folder.
        """
        if self._closed:
            raise MillstreamError("this connection is closed")
        self._adopted = adopt(self.catalog, self._adopted)
        for statement in statements(text):
            self._look_at_failures()
            bound = bind(statement, self.catalog)
            if base is not None and isinstance(bound, Define):
                bound = replace(bound, definition=_anchored(bound.definition, Path(base).absolute()))
            with told_in_a_sentence():
                answer = self._do(bound)
            yield answer

    def check(self, text: str) -> list[Bound]:
        """Parse and bind a text without doing anything; a mistake is raised as it would be on `execute`."""
        self._adopted = adopt(self.catalog, self._adopted)
        self._look_at_failures()
        trial = deepcopy(self.catalog)
        checked = []
        for statement in statements(text):
            bound = bind(statement, trial)
            pretend(bound, trial)
            checked.append(bound)
        return checked

    def ready(self, text: str) -> list[Bound]:
        """The same for a text that is to be carried out next: classes of aggregates are imported, and must fit."""
        checked = self.check(text)
        for bound in checked:
            if isinstance(bound, Define) and bound.load is not None and not bound.known:
                bound.load()
        return checked

    def try_out(self, checked: Sequence[Bound], text: str) -> None:
        """Let Spark judge what only it can in statements that are to be carried out next, as regular expressions.

        A stream that is defined before there is a Spark is judged with the first query over it.
        """
        selects = [select for bound in checked if (select := _carried_out(bound)) is not None]
        if self._spark is None and not selects:
            return
        judged = [(bound, text) for bound in checked if not isinstance(bound, Plan)]
        with told_in_a_sentence():
            try_all(self.spark, [*((stream, "") for stream in below(selects, self.catalog)), *judged])

    def query(self, name: str) -> RunningQuery:
        """The running query of that name."""
        found = self._queries.get(name.lower())
        if found is None:
            raise RunError(f"no query '{name}' runs: {suggest(name, [q.name for q in self.queries]) or 'none does'}")
        return found

    @property
    def queries(self) -> tuple[RunningQuery, ...]:
        """All queries of this connection, also those that have ended."""
        return tuple(self._queries.values())

    @property
    def listeners(self) -> Mapping[str, TcpListener]:
        """The streams that listen for producers."""
        return self._listeners

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started when it is first needed."""
        with self._opening:
            if self._spark is None:
                if self._closed:
                    raise RunError("this connection is closed")
                self._spark = open_session(self._master, self._conf, self.home.spark_log)
                self._progress = ProgressListener(self._spark)
            return self._spark

    def explain(self, asked: Select | Query) -> str:
        """How a SELECT or a query would run."""
        return explain(self._plan(asked, self.catalog))

    def wait(self) -> None:
        """Wait for all queries to end; the failures of all of them are raised together."""
        failures = []
        for query in self.queries:
            try:
                query.wait()
            except RunError as problem:
                failures.append(str(problem))
        if failures:
            raise RunError("\n".join(failures))

    def restart(self, name: str) -> RunningQuery:
        """Start a query again that has ended, from its checkpoint; its counts go on."""
        earlier = self.query(name)
        if earlier.is_active:
            raise RunError(f"query {earlier.name} runs")
        running = self._run(earlier.definition)
        running.counts.go_on_from(earlier.counts)
        return running

    def close(self) -> None:
        """Stop all queries and listeners. The Spark session stays for others in this process."""
        if self._closed:
            return
        self._closed = True
        failed = any(q.failure for q in self.queries)
        for query in self.queries:
            with contextlib.suppress(*SPARK_ERRORS, RunError):
                query.stop()
        for listener in self._listeners.values():
            listener.stop()
        if self._spark is not None and self._progress is not None:
            with contextlib.suppress(*SPARK_ERRORS):  # Spark's process may be gone
                self._progress.stop()
        self.home.close(keep_log=failed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- one method per kind of bound statement ------------------------------------------------------------

    @singledispatchmethod
    def _do(self, bound: Bound) -> Answer:
        raise NotImplementedError(type(bound).__name__)

    @_do.register
    def _define(self, bound: Define) -> Answer:
        definition = bound.definition
        if bound.known:
            return Answer(f"{definition.name} is already there")
        warnings = (*bound.warnings, *(bound.load() if bound.load is not None else ()))
        note = self._listen(definition) if isinstance(definition, Stream) else ""
        self.catalog.add(definition)
        created = f"created {describe.kind_of(definition)} {definition.name}{note}"
        return Answer("\n".join([created, *warnings]))

    @_do.register
    def _store(self, bound: Store) -> Answer:
        if bound.known:
            return Answer(f"{bound.name} is already there")
        folder = self.home.table_folder(bound.name)
        frame = self._frame(bound.select)
        try:
            frame.write.mode("overwrite").parquet(str(folder))
        except SPARK_ERRORS as problem:
            raise RunError(f"table {bound.name} could not be made: {explain_failure(problem)}") from problem
        schema = Schema(Column(f.name, sql_type(f.dataType.simpleString())) for f in frame.schema)
        self.catalog.add(Table(bound.name, schema, Address("parquet", str(folder))))
        return Answer(f"created table {bound.name}")

    @_do.register
    def _start(self, bound: Start) -> Answer:
        running = self._run(bound.query)
        return Answer(f"started query {running.name}", query=running)

    @_do.register
    def _rows(self, bound: Rows) -> Answer:
        if bound.select.bounded:
            try:
                table = readable(self._frame(bound.select)).toArrow()
            except SPARK_ERRORS as problem:
                raise RunError(explain_failure(problem)) from problem
            return Answer(f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}", table=table)
        name = f"select_{next(self._selects)}"
        running = self._run(Query(name, bound.select, STDOUT.name, bound.text))
        return Answer(f"started {name}", query=running)

    @_do.register
    def _explain(self, bound: Plan) -> Answer:
        return Answer("plan", text=self.explain(bound.asked))

    @_do.register
    def _reasons(self, bound: Reasons) -> Answer:
        running = self.query(bound.query.name)
        reasons = why_not(running.name, self._plan(bound.query, self.catalog), running.counts)
        return Answer("reasons", text=reasons)

    @_do.register
    def _generated_code(self, bound: GeneratedCode) -> Answer:
        known = [_code(d) if isinstance(d, UserAggregate) else d.text for d in bound.definitions]
        return Answer("generated Python", text="\n\n".join(known))

    @_do.register
    def _listing(self, bound: Listing) -> Answer:
        table = describe.listing(bound.what, self.catalog, self.settings, self._queries)
        return Answer(f"{table.num_rows} {bound.what.lower()}" if table.num_rows != 1 else "1 row", table=table)

    @_do.register
    def _description(self, bound: Description) -> Answer:
        return Answer(describe.headline(bound.title, bound.definition), table=describe.columns(bound.schema))

    @_do.register
    def _removal(self, bound: Removal) -> Answer:
        definition = bound.definition
        if definition is None:
            return Answer(f"there is no {bound.kind.lower()} {bound.name}")
        if isinstance(definition, Query):
            running = self._queries.pop(definition.name.lower(), None)
            if running:
                running.stop()
                running.disown(self._written)
            self.home.forget_query(definition.name)
        if isinstance(definition, Stream) and (listener := self._listeners.pop(definition.name.lower(), None)):
            listener.stop()
        self.catalog.remove(definition)
        return Answer(f"dropped {bound.kind.lower()} {definition.name}")

    @_do.register
    def _assignment(self, bound: Assignment) -> Answer:
        self.settings.assign(bound.name, bound.value)
        return Answer(f"{bound.name} is now {bound.value}")

    # -- running -------------------------------------------------------------------------------------------

    def _plan(self, asked: Select | Query, catalog: Catalog) -> Node:
        return apply_passes(build(asked), catalog)

    def _host(self) -> Host:
        ship_classes(self.catalog)
        return Host(self.spark, self._base, self.home.log_of, written=self._written)

    def _frame(self, select: Select) -> DataFrame:
        try:
            return lower(self._plan(select, self.catalog), self._host())
        except AnalysisException as problem:
            raise RunError(f"Spark refused the query: {explain_failure(problem)}") from problem

    def _run(self, query: Query) -> RunningQuery:
        plan = self._plan(query, self.catalog)
        for stream in streams_of(plan):
            listener = self._listeners.get(stream.name.lower())
            if listener is not None and listener.failure is not None:
                raise listener.failure
        if (earlier := self._queries.get(query.name.lower())) is not None:
            with contextlib.suppress(RunError):  # it has ended, and lets go of what it held
                earlier.stop()
        sinks = [sink for name in query.sinks if (sink := self.catalog.sink(name))] or [KEPT]
        for sink in sinks:
            self._check_single_writer(sink, query)
        record = QueryRecord(sources_of(plan), shape_of(plan), kept_types(plan), query.text)
        place = self.home.query_place(query.name, record)
        try:
            running = self._started(query, plan, sinks, place)
        except BaseException:
            self.home.undo(place)
            raise
        self._queries[query.name.lower()] = running
        self._reads[query.name] = {stream.name for stream in streams_of(plan)}
        self.catalog.add(query)
        return running

    def _look_at_failures(self) -> None:
        self.catalog.let_go([query.definition for query in self.queries if query.came_to_nothing])

    def _started(self, query: Query, plan: Node, sinks: Sequence[Sink], place: QueryPlace) -> RunningQuery:
        host = self._host()
        buckets = bucket_count(plan, task_count(host.spark), self.settings.buckets)
        direct = self.settings.direct
        host = replace(host, place=place if shape_of(plan) else None, buckets=buckets, direct=direct, once=self.once)
        assert self._progress is not None  # noqa: S101  (opened with the session)
        label = f"{self._id}.{query.name}.{next(self._runs)}"
        counts = self._progress.follow(label)
        try:
            frame = lower(plan, host)
            schema = to_arrow_schema(readable(frame).schema, timezone="UTC")
            results = Results(schema, self.settings.results_kept) if sinks[0].address.kind == "memory" else None

            def deliver(table: pa.Table) -> None:
                if results is not None:
                    results.add(table)
                else:
                    self._display(query.name, table)

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
                reduces=reduces(plan),
            )
        except AnalysisException as problem:
            counts.let_go()
            raise RunError(f"Spark refused query {query.name}: {explain_failure(problem)}") from problem
        except BaseException:
            counts.let_go()
            raise
        if host.place is not None:
            claim_copies(place.id)
        return RunningQuery(query, handle, counts, results, place)

    def _check_single_writer(self, sink: Sink, query: Query) -> None:
        suffix = Path(sink.address.rest).suffix
        others = [q for q in self.catalog.users(sink) if q != query.name]
        if sink.address.kind in {"csv", "json"} and suffix and others:
            raise RunError(
                f"sink {sink.name} is the single file {sink.address.rest}, and query {others[0]} already writes it\n"
                f"help: use a folder, as '{sink.address.kind}:{Path(sink.address.rest).with_suffix('')}'"
            )

    def _listen(self, stream: Stream) -> str:
        """Open the port of a pushed stream. A run over what is there does not listen: it reads the log."""
        if stream.source is None or stream.source.kind != "tcp" or self.once:
            return ""
        options = options_of(stream)
        place = str(options["host"]), int(stream.source.rest), self.home.log_of(stream.name)
        listener = TcpListener(*place, limits=limits_of(options), on_failure=partial(self._lose, stream))
        listener.start()
        self._listeners[stream.name.lower()] = listener
        kept = (
            "; its rows are kept only while this runs, unless a checkpoint folder is given"
            if self.home.temporary
            else ""
        )
        return f", listening on {listener.host}:{listener.port}{kept}"

    def _lose(self, stream: Stream, problem: RunError) -> None:
        """End the queries over a stream that nothing comes into any more: they would wait for ever, and say nothing."""
        for query in self.queries:
            if stream.name in self._reads.get(query.name, ()) and query.is_active:
                with contextlib.suppress(*SPARK_ERRORS):  # it ended by itself meanwhile
                    query.give_up(str(problem))


connect = Mill
"""Open a mill: `with millstream.connect(...) as mill`."""


def _carried_out(bound: Bound) -> Select | None:
    """The SELECT that a statement runs, if it does."""
    match bound:
        case Rows(select=select) | Store(select=select) | Start(query=Query(select=select)):
            return select
    return None


def _anchored(definition: Definition, base: Path) -> Definition:
    """The definition with a relative address made absolute."""
    match definition:
        case Stream(source=Address() as source) if connector(source).files:
            return replace(definition, source=Address(source.kind, absolute(base, source.rest)))
        case Table(source=source) if connector(source).files:
            return replace(definition, source=Address(source.kind, absolute(base, source.rest)))
        case Sink(address=address) if connector(address).files:
            return replace(definition, address=Address(address.kind, absolute(base, address.rest)))
    return definition


def _code(definition: UserAggregate) -> str:
    """The class that a body becomes, and its kernels if it has any."""
    source, kernel = compile_aggregate(definition.body).source, kernel_of(definition.body)
    return source if kernel is None else f"{source}\n\n# compiled by numba\n\n\n{kernel.source}"


def shape_of(plan: Node) -> str:
    """What a plan remembers from one batch to the next, in words; nothing if it has no state."""
    return "; ".join(step.remembers for step in steps(plan) if step.remembers)


def streams_of(plan: Node) -> list[Stream]:
    """The streams that a plan reads, in order."""
    return [step.stream for step in steps(plan) if isinstance(step, Scan | RejectedScan | LateScan)]


def sources_of(plan: Node) -> list[str]:
    """The sources that a plan reads, in order: what a checkpoint is good for."""
    return [f"{s.name} {s.source}".lower() if s.source else s.name for s in streams_of(plan)]
