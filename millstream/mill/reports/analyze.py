"""Runs of EXPLAIN ANALYZE: over what is there, to the end, with the rows discarded and no trace left."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from pyspark.sql import DataFrame

from millstream.catalog.definitions import Query
from millstream.catalog.heartbeats import Heartbeats
from millstream.catalog.settings import Settings
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.text import readable
from millstream.errors import RunError
from millstream.mill.engine.running import RunningQuery
from millstream.mill.home.home import Home
from millstream.mill.manner import Manner, print_rows
from millstream.mill.reports.analysis import Analysis
from millstream.plan.algebra import Node
from millstream.plan.column_origins import has_state, holds_back
from millstream.plan.physical.choose_buckets import bucket_count
from millstream.plan.physical.place_partials import reduces
from millstream.plan.reads import streams_of
from millstream.spark.host import Host
from millstream.spark.lower.lowering import lower
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure
from millstream.spark.run.progress import Counts, ProgressListener
from millstream.spark.run.query import Clocks, start
from millstream.spark.run.task_seconds import GROUP, TaskSeconds


class _Discard:
    """The sink of such a run: it has each batch computed, drops its rows, and notes how long Spark's tasks took."""

    def __init__(self, host: Host, tasks: TaskSeconds) -> None:
        self._host, self._tasks = host, tasks

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The rows as they are."""
        return frame

    def write(self, frame: DataFrame, batch: int) -> int:
        """Compute a batch."""
        frame.write.format("noop").mode("append").save()
        self._tasks.add_batch(frame, self._host.spark)
        return 0

    def close(self) -> None:
        """It holds nothing."""


def analyze_table(plan: Node, host: Host) -> Analysis:
    """What the steps of a physical plan over tables did; its rows come to this process, as those of a SELECT do."""
    counts = Counts()
    begun = time.perf_counter()
    frame = readable(lower(plan, host))
    lowered = time.perf_counter()
    try:
        with _group_jobs(host) as group:
            frame.toArrow()
    except SPARK_ERRORS as problem:
        raise RunError(explain_failure(problem)) from problem
    ended = time.perf_counter()
    counts.steps.tasks = TaskSeconds()
    counts.steps.tasks.add(host.spark, frame._jdf.queryExecution(), group)  # noqa: SLF001
    phases = {"queryPlanning": lowered - begun, "addBatch": ended - lowered, "triggerExecution": ended - begun}
    counts.add(
        {
            "batchId": 0,
            "timestamp": "1970-01-01T00:00:00Z",
            "sources": [],
            "durationMs": {name: 1000 * seconds for name, seconds in phases.items()},
            "observedMetrics": _read_metrics(frame),
        }
    )
    return Analysis(plan, counts, bounded=True)


@contextmanager
def _group_jobs(host: Host) -> Iterator[str]:
    """A name for the jobs that Spark starts meanwhile."""
    context = host.spark.sparkContext
    before, group = context.getLocalProperty(GROUP), f"analyze.{uuid.uuid4().hex[:8]}"
    context.setLocalProperty(GROUP, group)
    try:
        yield group
    finally:
        context.setLocalProperty(GROUP, cast("str", before))  # None takes it away


def _read_metrics(frame: DataFrame) -> dict[str, dict[str, Any]]:
    """The metrics of a frame whose rows have been computed, in the form in which a streaming query tells them."""
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001
    metrics = frame._jdf.queryExecution().observedMetrics()  # noqa: SLF001
    rows = jvm.scala.jdk.javaapi.CollectionConverters.asJava(metrics)
    return {str(name): json.loads(rows[name].json()) for name in rows}


def analyze_stream(query: Query, logical: Node, plan: Node, host: Host, progress: ProgressListener) -> Analysis:
    """What the steps of a physical plan over streams did, in a run over what is there."""
    label = f"analyze.{uuid.uuid4().hex[:8]}"
    with _place() as place:
        counts = progress.follow(label)
        tasks = counts.steps.tasks = TaskSeconds()
        here = replace(host, place=place if has_state(logical) else None, once=True)
        clocks = Clocks(None, (), Heartbeats(), holds_back(logical))
        try:
            handle = start(
                here,
                lower(plan, here),
                _Discard(host, tasks),
                place,
                counts,
                name=label,
                trigger=timedelta(0),
                clocks=clocks,
                streams=streams_of(logical),
                reduces=reduces(plan),
                buckets=bucket_count(plan),
            )
        except BaseException:
            counts.let_go()
            raise
        running = RunningQuery(query, handle, counts, None, place, Manner(Settings(), print_rows))
        try:
            running.wait()
        finally:
            running.stop()
    return Analysis(plan, counts)


@contextmanager
def _place() -> Iterator[QueryPlace]:
    """A place of a query that is gone afterwards."""
    home = Home()
    try:
        folder = home.query_folder("analyzed")
        folder.mkdir(parents=True)
        yield QueryPlace(folder, uuid.uuid4().hex, fresh=True, new=True)
    finally:
        home.close()
