"""Tuples on their way through a stage: ingress for each of its inputs, the shuffle by bucket, the stage itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import TimeStamp
from millstream.operators.answers import END
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.window_aggregate_job import ARRIVAL, TIME
from millstream.plan.algebra import Node, OverAggregate, WindowAggregate
from millstream.plan.column_origins import STAGES, feeder, steps, trace
from millstream.plan.joins_and_unions import WindowJoin
from millstream.plan.physical.nodes import ArrowRead, Exchange, Stage
from millstream.plan.scans import Scan, TableScan
from millstream.spark.buckets import bucket_ids
from millstream.spark.host import Host
from millstream.spark.lower.arrow_reading import packets_of
from millstream.spark.lower.control_stream import marks_of
from millstream.spark.lower.stage_inputs import Inflow, Origin
from millstream.spark.lower.time_bounds import limits_of
from millstream.spark.metrics import (
    BYTES,
    HEARD,
    LATE,
    MICROS,
    NEWEST,
    OUT,
    PASSED,
    REJECTED,
    STAGE,
    STATE,
    TUPLES,
    WAITS,
    WORK,
)
from millstream.spark.names import quoted
from millstream.spark.stage.arrival_order import FILE, ROW, TASK, Number, Ordering
from millstream.spark.stage.control_words import END as END_MARK
from millstream.spark.stage.feeds import Feed
from millstream.spark.stage.ingress import Inlet, control_marks, ingress
from millstream.spark.stage.map_arrow import map_in_arrow
from millstream.spark.stage.marks import LEFT_OUT, MARK
from millstream.spark.stage.outlet import Outlet
from millstream.spark.stage.packets import PACKET_SCHEMA
from millstream.spark.stage.stage import Stage as StatefulStage
from millstream.spark.stage.time_limits import TimeLimits
from millstream.spark.stage.unnest import nested_columns, unnested_schema
from millstream.spark.stage.wire import from_wire, wire_schema

MICROSECOND = timedelta(microseconds=1)
ANSWER_TIME = "time"
"""What the promise of a stage is about whose answers are tuples with the time stamps that they had."""


MOST_REPORTED = 64
"""Each bucket whose work is reported costs a metric."""


@dataclass(frozen=True)
class StageJob:
    """What a stage does: its operator, its answers, and what it promises of them.

    `names` are the answers that the state knows by other names: see `state_names`.
    """

    make: Callable[[Blobs], Operator]
    answers: pa.Schema
    promises: tuple[tuple[str, int], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def origin_of(feed: Exchange, host: Host) -> Origin:
    """The time stamp of the tuples of an input, and where their progress comes from."""
    part, time = feed.part, feed.time
    source = feeder(part)
    stamp = f"unix_micros({'current_timestamp()' if time is None else quoted(time)})"
    if isinstance(source, Scan):
        return Origin(time, stamp, source.stream.slack // MICROSECOND if source.stream.progresses_by_slack else None)
    if not isinstance(source, STAGES):
        return Origin(time, stamp, 0)
    promised = promise_about(part, time) if time else None
    if isinstance(source, WindowAggregate) and promised == END and not source.window_aggregate.window.end_inclusive:
        stamp += " - 1"  # an answer belongs to the last moment of its window, not to the next window
    return Origin(time, stamp, None, len(bucket_ids(host, feed.buckets.count)), promised)


def promise_about(part: Node, time: str) -> str | None:
    """The name of what the buckets of a stage promise of a time stamp; None if they promise nothing of it."""
    source, found = feeder(part), trace(part, time)
    if found is None or (isinstance(source, OverAggregate) and found[1] != source.over_aggregate.time):
        return None  # its promise is about another column
    return found[1] if isinstance(source, WindowAggregate | WindowJoin) else ANSWER_TIME


def ordering(part: Node, renumber: Callable[[pa.Table, Number], pa.Table] | None = None) -> Ordering:
    """How the tuples of an input, which tell the order of their arrival, come to their numbers."""
    source = feeder(part)
    if isinstance(source, Scan | TableScan):
        return Ordering(True, source.place, renumber)
    return Ordering(False)


def lower_stage(node: Stage, inflows: Sequence[Inflow], work: StageJob, host: Host, marked: bool) -> DataFrame:
    """The answers of a stage as typed columns; `marked`, with the marks that speak of their progress."""
    inlets = [replace(f.inlet, feed=n, limits=_limits(f.part, host)) for n, f in enumerate(inflows)]
    packets = [_packets(inlet, f, node.number, host) for inlet, f in zip(inlets, inflows, strict=True)]
    if any(not flow.origin.origins for flow in inflows):
        spoken = control_marks(bucket_ids(host, node.buckets), _streams(inflows))
        packets.append(_control(host).mapInArrow(spoken, PACKET_SCHEMA))
    feeds = tuple(Feed(f.exchange.port, f.origin.slack, f.origin.origins, f.inlet.order) for f in inflows)
    query = host.place.id if host.place else ""
    lists = nested_columns(node.lists)
    answers = unnested_schema(work.answers, lists)
    given = answers.append(pa.field(MARK, pa.string()))
    outlet = Outlet(query, node.number, given, work.make, feeds, work.promises, lists, node.holds, work.names)
    bucketed = reduce(DataFrame.union, packets).groupBy("bucket")
    frame = bucketed.transformWithStateInPandas(StatefulStage(outlet), wire_schema(given), "append", "none")
    frame = _observed(frame, inflows, node, host)
    return from_wire(frame, given) if marked else from_wire(frame.filter(F.col(MARK).isNull()), answers)


def _limits(part: Node, host: Host) -> TimeLimits | None:
    """Which time stamps of an input are good: those of answers have been judged, and ours need not be."""
    match feeder(part):
        case Scan(stream=stream):
            return limits_of(stream, host)
        case found if isinstance(found, STAGES):
            return None
    return TimeLimits(of_stream=False)


def _packets(inlet: Inlet, flow: Inflow, stage: int, host: Host) -> DataFrame:
    if isinstance(read := flow.exchange.below, ArrowRead):
        return packets_of(read, inlet, stage, host)
    frame = flow.frame
    wanted = {**flow.computed, TIME: F.expr(flow.origin.time)}
    if LEFT_OUT in frame.columns:  # of these nothing but the time stamp is needed
        wanted = {name: F.when(F.col(LEFT_OUT).isNull(), column) for name, column in wanted.items()}
    wished = (MARK, LEFT_OUT) if inlet.order is None else (MARK, LEFT_OUT, FILE, TASK, ROW, ARRIVAL)
    hidden = [name for name in wished if name in frame.columns]
    tuples = frame.select(*[column.alias(name) for name, column in wanted.items()], *hidden)
    return map_in_arrow(tuples, [*wanted, *hidden], ingress(inlet), PACKET_SCHEMA)


def _streams(inflows: Sequence[Inflow]) -> dict[str, list[int]]:
    """The inputs that come straight from each stream: marks name streams."""
    found: dict[str, list[int]] = {}
    for number, flow in enumerate(inflows):
        source = feeder(flow.part)
        if isinstance(source, Scan):
            found.setdefault(source.stream.name, []).append(number)
    return found


def _control(host: Host) -> DataFrame:
    """The marks of a query; one over tables ends as soon as it has begun."""
    if host.place is None:
        return host.spark.createDataFrame([(END_MARK,)], "value STRING")
    return marks_of(host.spark, host.place.control, one_by_one=host.once)


def _observed(frame: DataFrame, inflows: Sequence[Inflow], stage: Stage, host: Host) -> DataFrame:
    """The frame with what its marks say among the metrics of the query: see spark/progress.py."""

    def said(fold: str, place: str, name: str) -> SparkColumn:
        # As text: each function of a column would be a call to the JVM of its own.
        return F.expr(f"{fold}(CAST(get_json_object({MARK}, '$.{place}') AS BIGINT)) AS {quoted(name)}")

    buckets = bucket_ids(host, stage.buckets)
    metrics = [said("min", "waits", WAITS)]
    if len(buckets) <= MOST_REPORTED:
        metrics += [said("max", f"work.{bucket}", f"{WORK}{bucket}") for bucket in buckets]
    metrics += [said("sum", name, name) for name in (BYTES, OUT, STATE)]
    for number, flow in enumerate(inflows):
        metrics.append(said("sum", f"tuples[{number}]", f"{TUPLES}{number}"))
        metrics.append(said("sum", f"micros[{number}]", f"{MICROS}{number}"))
        source = feeder(flow.part)
        scans = [step for step in steps(source) if isinstance(step, Scan)]
        if not scans:
            continue
        stream = scans[0].stream.name
        from_stage = getattr(source, "number", 0)
        passed = f"{from_stage}" if from_stage else stream
        metrics.append(said("min", f"passed[{number}]", f"{PASSED}{number}.{passed}"))
        if not isinstance(source, Scan):
            metrics.append(said("sum", f"late[{number}]", f"{LATE}{number}.{stream}.{stage.number}"))
            continue
        metrics.append(said("max", f"heard[{number}]", f"{HEARD}{number}.{stream}"))
        if not scans[0].again:  # late tuples of a stream that is read twice are counted once
            metrics.append(said("sum", f"late[{number}]", f"{LATE}{number}.{stream}"))
            if scans[0].stream.time_stamp is TimeStamp.EXTERNAL:
                metrics.append(said("sum", f"rejected[{number}]", f"{REJECTED}{number}.{stream}"))
                metrics.append(said("max", f"newest[{number}]", f"{NEWEST}{number}.{stream}"))
    return host.observe(frame, f"{STAGE}{stage.number}", metrics)
