"""A query that feeds a stream, with what speaks of its progress beside its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.ahead import Ahead
from millstream.catalog.definitions import Stream, TimeStamp
from millstream.connectors.arrivals import time_of
from millstream.plan.algebra import Node
from millstream.plan.column_origins import STAGES, feeder, parts, trace
from millstream.plan.scans import Scan
from millstream.spark.buckets import bucket_ids
from millstream.spark.host import Host
from millstream.spark.lower.control_stream import marks_of
from millstream.spark.lower.lower import lower
from millstream.spark.lower.stage_lowering import MICROSECOND, promise_about
from millstream.spark.lower.time_bounds import bound_of
from millstream.spark.metrics import HEARD, STAGE
from millstream.spark.names import quoted
from millstream.spark.stage.feeder_progress import PART, TIME, WORD, Part
from millstream.spark.stage.marks import AT, LEFT_OUT, MARK
from millstream.spark.stage.time_limits import TimeLimits, tighter

_TYPES = {MARK: "STRING", AT: "BIGINT", LEFT_OUT: "BIGINT", PART: "INT", WORD: "STRING", TIME: "BIGINT"}


def lower_feeder(
    logical: Node, physical: Node, stream: Stream, buckets: int | None, host: Host
) -> tuple[DataFrame, tuple[Part, ...]]:
    """The rows of a plan that go into a stream, with marks, and what these are about."""
    told = tuple(_part(one, stream, buckets, host) for one in parts(logical))
    names = [column.name for column in stream.arriving_schema]
    timed = stream.time_stamp is TimeStamp.EXTERNAL
    frames = []
    for number, (one, below) in enumerate(zip(parts(physical), parts(logical), strict=True)):
        # What no stage judges, Spark does: how far tuples run ahead of the clock.
        frame = lower(one, replace(host, judges=not isinstance(feeder(below), STAGES)), marked=True)
        frame = frame.withColumn(PART, F.lit(number))
        frames.append(_shaped(frame.withColumn(TIME, time_of(stream)) if timed else frame, names))
    frame = reduce(DataFrame.union, frames)
    heard = [_heard(number, part.stream) for number, part in enumerate(told) if part.stream is not None]
    if heard:
        frame = host.observe(frame, f"{STAGE}0", [F.expr(text) for text in heard])
    if host.place is not None:  # always: a checkpoint knows how many sources there are
        words = marks_of(host.spark, host.place.control, one_by_one=host.once).withColumnRenamed("value", WORD)
        nothing = [F.lit(None).cast(frame.schema[name].dataType).alias(name) for name in names]
        frame = frame.union(_shaped(words.select(WORD, *nothing), names))
    return frame, told


def _heard(number: int, stream: str) -> str:
    """Whether an input has brought tuples: what is silent, is so since."""
    return f"max(int({PART} = {number} AND {MARK} IS NULL)) AS {quoted(f'{HEARD}{number}.{stream}')}"


def _shaped(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The frame with all that stands beside rows, as NULL where it has none of it."""
    known = set(frame.columns)
    beside = [f"CAST({name if name in known else 'NULL'} AS {type_}) AS {name}" for name, type_ in _TYPES.items()]
    return frame.selectExpr(*map(quoted, names), *beside)


def _part(plan: Node, stream: Stream, buckets: int | None, host: Host) -> Part:
    """What tells of the progress of an input, seen from the time stamp that its rows will have in the stream."""
    limits = _limits(bound_of(stream, host))
    by_rows = Part(slack=_slack(stream), by_rows=True, limits=limits)
    place = next((n for n, column in enumerate(stream.arriving_schema) if column.name == stream.time), None)
    if place is None:  # it is computed of what arrives
        return by_rows
    time, source = plan.schema.names[place], feeder(plan)
    if isinstance(source, Scan):
        found = source.stream
        if trace(plan, time) != (source, found.time) or found.time_stamp is not TimeStamp.EXTERNAL:
            return by_rows
        return Part(found.name, _slack(found), limits=tighter(limits, _limits(bound_of(found, host))))
    if isinstance(source, STAGES) and (promised := promise_about(plan, time)) is not None:
        return Part(origins=len(bucket_ids(host, buckets)), promised=promised, limits=limits)
    return by_rows


def _slack(stream: Stream) -> int | None:
    return stream.slack // MICROSECOND if stream.progresses_by_slack else None


def _limits(bound: Ahead | None) -> TimeLimits:
    """Which time stamps may move time."""
    return TimeLimits() if bound is None or bound.bound is None else TimeLimits(bound.bound // MICROSECOND, bound.waits)
