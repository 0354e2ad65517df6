"""What has state, on Spark: ingress, shuffle by bucket, stage, egress."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache, partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.aggregates.registry import find
from millstream.catalog.arrow import to_arrow
from millstream.catalog.definitions import Stream
from millstream.errors import RunError
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.grouped import TIME, Call, Grouped
from millstream.operators.late import LateTuples
from millstream.operators.paned_aggregate import END, STAMP, START, PanedAggregate
from millstream.plan.algebra import Node, Scan, WindowAggregate
from millstream.spark.control import marks_of
from millstream.spark.egress import egress
from millstream.spark.expressions import spark_text
from millstream.spark.host import Host
from millstream.spark.ingress import ingress, marks, whole_tuples
from millstream.spark.packets import PACKET_SCHEMA
from millstream.spark.progress import LATE
from millstream.spark.sinks.place import QueryPlace
from millstream.spark.stage import OUTPUT_SCHEMA, Stage


def lower_window(node: WindowAggregate, frame: DataFrame, host: Host) -> DataFrame:
    """The frame that computes a window aggregate over the frame of its input."""
    work, columns = _work(node)
    stream = _stream(node)
    buckets = bucket_ids(host)
    tuples = frame.select(
        *[F.expr(text).alias(name) for name, text in columns.items()],
        F.unix_micros(F.col(f"`{node.windowed.time}`")).alias(TIME),
    )
    packets = tuples.mapInArrow(ingress(work, buckets), PACKET_SCHEMA)
    answers = _staged(packets, partial(PanedAggregate, work), stream, host)
    return answers.mapInArrow(egress, from_arrow_schema(_answers(work)))


def lower_late(stream: Stream, frame: DataFrame, host: Host) -> DataFrame:
    """The frame of a stream's late tuples over the frame of its tuples."""
    rows = frame.withColumn(TIME, F.unix_micros(F.col(f"`{stream.time}`")))
    packets = rows.mapInArrow(whole_tuples(bucket_ids(host)), PACKET_SCHEMA)
    return _staged(packets, LateTuples, stream, host).mapInArrow(egress, frame.schema)


def _staged(packets: DataFrame, make: Callable[[Blobs], Operator], stream: Stream, host: Host) -> DataFrame:
    """The packets, with the marks of the control stream, through a stage."""
    control = marks_of(host.spark, _place(host).control)
    packets = packets.union(control.mapInArrow(marks(bucket_ids(host)), PACKET_SCHEMA))
    slack = stream.slack // timedelta(microseconds=1)
    staged = packets.groupBy("bucket").transformWithStateInPandas(
        Stage(_place(host).id, make, slack), OUTPUT_SCHEMA, "append", "none"
    )
    return staged.observe(f"{LATE}{stream.name}", F.sum("late").alias("late"))


def bucket_ids(host: Host) -> tuple[int, ...]:
    """The buckets of a query. They are chosen once: a key must find its state again, also on a larger machine."""
    place = _place(host)
    known = place.load("buckets")
    if not known:
        known = {str(number): bucket for number, bucket in enumerate(even_bucket_ids(host.spark))}
        place.save("buckets", known)
    return tuple(known[str(number)] for number in range(len(known)))


def _place(host: Host) -> QueryPlace:
    if host.place is None:
        raise RunError("a query with state needs a place to keep it")
    return host.place


@cache
def even_bucket_ids(spark: SparkSession) -> tuple[int, ...]:
    """As many bucket ids as there are shuffle partitions, each of which Spark's hash sends to another partition."""
    partitions = int(str(spark.conf.get("spark.sql.shuffle.partitions")))
    rows = (
        spark.range(64 * partitions)
        .select("id", F.expr(f"pmod(hash(cast(id AS INT)), {partitions})").alias("p"))
        .collect()
    )
    first: dict[int, int] = {}
    for row in rows:
        first.setdefault(int(row["p"]), int(row["id"]))
    return tuple(first[p] for p in sorted(first))


def _work(node: WindowAggregate) -> tuple[Grouped, dict[str, str]]:
    """What the operator does, and the columns that Catalyst computes for it."""
    windowed = node.windowed
    columns = {item.name: spark_text(item.expression) for item in windowed.keys}
    keys = []
    for item in windowed.keys:
        type_ = to_arrow(item.type)
        assert type_ is not None  # noqa: S101  (the binder refuses others)
        keys.append((item.name, type_))
    count = find("count_star")
    assert count is not None  # noqa: S101
    # The count of rows says which groups are there; whoever asks for it gets the same.
    plain = [c.name for c in windowed.calls if c.aggregate.name == count.name and c.condition is None]
    calls = [Call(count([]), names=tuple(plain))]
    for number, call in enumerate(windowed.calls):
        if call.name in plain:
            continue
        names = []
        for place, argument in enumerate(call.arguments):
            names.append(f"__a{number}_{place}")
            columns[names[-1]] = spark_text(argument)
        condition = None
        if call.condition is not None:
            condition = f"__c{number}"
            columns[condition] = spark_text(call.condition)
        calls.append(Call(call.aggregate, tuple(names), condition, (call.name,)))
    return Grouped(tuple(keys), tuple(calls), windowed.window), columns


def _answers(work: Grouped) -> pa.Schema:
    keys = [pa.field(name, type_) for name, type_ in work.keys]
    return pa.schema([*keys, *work.results, pa.field(START, STAMP), pa.field(END, STAMP)])


def _stream(node: Node) -> Stream:
    below: object = node
    while not isinstance(below, Scan):
        below = getattr(below, "below")  # noqa: B009  (every plan of a window ends in a scan)
    return below.stream
