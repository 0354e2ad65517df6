"""Starts a frame as a Spark streaming query that feeds a sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.definitions import Stream
from millstream.catalog.heartbeats import Heartbeats
from millstream.connectors.batch_count import batches_of
from millstream.connectors.files.source_log import files_of
from millstream.connectors.places.aliases import is_special, real_path
from millstream.connectors.sinks import BatchSink, QueryPlace
from millstream.errors import RunError
from millstream.spark.buckets import tasks_for
from millstream.spark.host import Host
from millstream.spark.process.close_leaks import close_later
from millstream.spark.process.local_files import reads_any_name
from millstream.spark.run.arrow_batches import bound_batches
from millstream.spark.run.bounded_run import BoundedRun, Handle
from millstream.spark.run.changing_tables import Watch
from millstream.spark.run.changing_versions import VersionWatch
from millstream.spark.run.clock import Clock
from millstream.spark.run.control import end_after, forget_unread
from millstream.spark.run.progress import Counts
from millstream.spark.run.silent_inputs import SilentInput, Tell, listen
from millstream.spark.run.ticker import tell_time
from millstream.spark.run.wanted import Wanted


@dataclass(frozen=True)
class Clocks:
    """What the wall clock has to do with a query that goes on.

    At the `pace`, if there is one, it is told that the clock has moved on. `quiet` are streams that may fall silent.
    `ends`: whether one that does not go on must be told of its end. `logs` take the time stamps of kept streams.
    `fed` are the streams without a source that it reads, and `into` is the one that it feeds.
    """

    pace: timedelta | None
    quiet: Sequence[SilentInput]
    heartbeats: Heartbeats
    ends: bool
    logs: Mapping[str, Tell] = field(default_factory=dict)
    fed: frozenset[str] = frozenset()
    into: str | None = None


class Timing:
    """What a mill does for its queries while they run: its clock, the tables that it watches, what streams wait for."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.tables = Watch(self.clock)
        self.versions = VersionWatch(self.clock)
        self.wanted = Wanted()


def start(
    host: Host,
    frame: DataFrame,
    target: BatchSink | None,
    place: QueryPlace,
    counts: Counts,
    *,
    name: str,
    trigger: timedelta,
    clocks: Clocks,
    streams: Sequence[Stream] = (),
    reduces: bool = False,
    buckets: int | None = None,
    timing: Timing | None = None,
    before: Callable[[int], None] | None = None,
) -> Handle:
    """Start the frame, which feeds the target, or nothing, if Spark discards the rows by itself.

    On a host where queries run `once`, it ends when it has read what was there at its start. `streams` are those that
    it reads. Without `timing` nothing is done for it while it runs. `reduces`: whether no tuple of a source goes to a
    stage as it is. Its state is in so many `buckets`. `before` is told of each micro-batch before
    any of its tasks runs.
    """
    if target is not None:
        counts.let_go = target.close  # also if the query never starts: whoever counts knows
    forget_unread(place.control, Path(place.checkpoint))
    told = host.once and host.place is not None and clocks.ends
    # The end can come along with the last tuples, where it is known with which batch they come.
    batches = batches_of(host, streams) if told and place.fresh else None
    if batches is not None:
        end_after(place.control, batches)
    pause = timedelta(0) if told and batches is None else None if host.once else trigger
    with tasks_for(host, buckets), bound_batches(host.spark, reduces):
        query = _begin(frame, target, place, counts, name, pause, before)
    if host.place is not None:
        close_later()
    if timing is not None:
        timing.versions.follow(frame, query, counts, host.stored, changes=not host.once)
    if told:
        return query if batches is not None else BoundedRun(query, place.control)
    if timing is None:
        return query
    if not host.once:
        timing.tables.follow(frame, counts, host.stored)
    if host.place is not None:  # there is a stage that can be told
        if clocks.pace is not None:
            tell_time(timing.clock, place, counts, clocks.pace)
        into = None if clocks.into is None else clocks.into.lower()
        listen(timing.clock, place, counts, clocks.quiet, clocks.heartbeats, clocks.logs, into, timing.wanted)
        timing.wanted.reads((stream.lower() for stream in clocks.fed), counts, into, timing.clock)
    return query


def _begin(
    frame: DataFrame,
    target: BatchSink | None,
    place: QueryPlace,
    counts: Counts,
    name: str,
    trigger: timedelta | None,
    before: Callable[[int], None] | None,
) -> StreamingQuery:
    prepared = frame if target is None else target.prepare(frame)
    writer = prepared.writeStream.queryName(name).option("checkpointLocation", place.checkpoint)
    writer = (
        writer.trigger(availableNow=True)
        if trigger is None
        else writer.trigger(processingTime=f"{trigger // timedelta(milliseconds=1)} milliseconds")
    )
    if target is None:
        return writer.format("noop").start()

    def write(frame: DataFrame, batch: int) -> None:
        if before is not None:
            before(batch)
        _check_names(frame.sparkSession, Path(place.checkpoint), batch)
        counts.rows_out += target.write(frame, batch)

    return writer.foreachBatch(write).start()


def _check_names(spark: SparkSession, checkpoint: Path, batch: int) -> None:
    """Without our class, Spark reads the other files of a batch once more for each name that is a pattern, too."""
    for file in files_of(checkpoint, batch):
        if is_special(str(file.path)) and not reads_any_name(spark):
            raise RunError(
                f"{real_path(str(file.path))} cannot be read beside others: Spark takes its name for a pattern\n"
                "help: make the class that reads any name, python -m millstream.mill.make_java_files; or rename it"
            )
