"""Runs over what is there: the rows of a bounded SELECT, and EXPLAIN ANALYZE."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query, Stream
from millstream.catalog.select import Select
from millstream.catalog.settings import Settings
from millstream.connectors.writing.text import readable
from millstream.errors import RunError
from millstream.mill.engine.planner import Planner
from millstream.mill.engine.query_registry import QueryRegistry
from millstream.mill.engine.runtime import Runtime
from millstream.mill.reports.analysis import Analysis
from millstream.mill.reports.analyze import analyze_stream, analyze_table
from millstream.mill.streams.open_streams import OpenStreams
from millstream.plan.algebra import Node
from millstream.plan.physical.answer_here import AnswerHere
from millstream.plan.physical.observe_steps import observe_steps
from millstream.plan.reads import histories_of, streams_of
from millstream.spark.lower.lowering import lower
from millstream.spark.process.failures import explain_failure


class BoundedRuns:
    """Carries out SELECTs that end, and analyzes any."""

    def __init__(self, planner: Planner, runtime: Runtime, streams: OpenStreams, queries: QueryRegistry) -> None:
        self._planner, self._runtime, self._streams, self._queries = planner, runtime, streams, queries

    @contextlib.contextmanager
    def frame(self, select: Select, settings: Settings, catalog: Catalog | None = None) -> Iterator[DataFrame]:
        """The rows of a bounded SELECT, as a frame of Spark; histories stay as they are while it is read."""
        with self._lower(self._planner.physical(select, settings, catalog)) as frame:
            yield frame

    def rows(self, select: Select, settings: Settings, catalog: Catalog | None = None) -> pa.Table:
        """The rows of a bounded SELECT: those of a view from memory, where that gives the same, else by Spark."""
        plan = self._planner.physical(select, settings, catalog)
        if isinstance(plan, AnswerHere):
            return plan.rows(self._runtime.stored.view(plan.view).table())
        with self._lower(plan) as frame:
            return readable(frame).toArrow()

    def analyze(self, asked: Select | Query, settings: Settings, catalog: Catalog | None = None) -> Analysis:
        """Run a SELECT or a query over what is there, and tell what its steps did; its rows go nowhere."""
        select = asked if isinstance(asked, Select) else asked.select
        logical = self._planner.plan(asked, catalog)
        self._fill([*streams_of(logical), *histories_of(logical)])
        facts = replace(self._planner.facts(asked, settings), kept_buckets=None)
        plan = observe_steps(self._planner.choose_physical(logical, facts))
        host = self._runtime.host()
        try:
            if select.bounded:
                return analyze_table(plan, host)
            query = asked if isinstance(asked, Query) else Query("analyzed", select, None, "")
            return analyze_stream(query, logical, plan, host, self._runtime.progress)
        except AnalysisException as problem:
            raise RunError(f"Spark refused the query: {explain_failure(problem)}") from problem

    def _fill(self, streams: Sequence[Stream]) -> None:
        """Let what is read be there, as it is for queries."""
        if self._runtime.place.once:
            self._queries.wait_for_feeders(streams)
        self._streams.land(streams)

    @contextlib.contextmanager
    def _lower(self, plan: Node) -> Iterator[DataFrame]:
        histories = histories_of(plan)
        self._fill(histories)
        try:
            with self._streams.readers.pin() if histories else contextlib.nullcontext():
                yield lower(plan, self._runtime.host())
        except AnalysisException as problem:
            raise RunError(f"Spark refused the query: {explain_failure(problem)}") from problem
