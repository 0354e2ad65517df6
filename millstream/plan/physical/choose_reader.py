"""Who reads a stream: the stage behind it, in Arrow, or Spark.

Spark tells which files there are in any case. A stage that reads them by itself costs a fraction of the way through the
JVM, and is chosen where each step between the files and the stage can be done there with the same results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millstream.catalog.definitions import TimeStamp
from millstream.connectors.registry import connector
from millstream.plan.algebra import Node, rewrite
from millstream.plan.column_origins import feeder, trace
from millstream.plan.physical.arrow_steps import Refused, arrow_read
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import ArrowRead, Exchange, SparkRead
from millstream.plan.scans import Scan


def choose_reader(plan: Node, facts: Facts) -> Node:
    """The scan below an exchange becomes a reading of its stage, or one of Spark, with the reason."""

    def choose(node: Node) -> Node:
        if not isinstance(node, Exchange) or not isinstance(source := feeder(node.part), Scan):
            return node
        try:
            check_reading(node, source, facts)
            return replace(node, below=arrow_read(node, source, facts))
        except Refused as refusal:
            return replace(node, below=_spark_reads(node.below, str(refusal)))

    return _spark_reads(rewrite(plan, choose), "no step with state is behind it")


def _spark_reads(node: Node, why: str) -> Node:
    """The plan with Spark as the reader of all streams for which nobody is chosen yet."""
    match node:
        case SparkRead() | ArrowRead():
            return node
        case Scan():
            return SparkRead(node, why)
    return node.with_inputs([_spark_reads(below, why) for below in node.inputs])


def check_reading(exchange: Exchange, scan: Scan, facts: Facts) -> None:
    """Whether the files are Parquet on this machine, and each row of them is a tuple with a time stamp of its own."""
    for why in _refusals(exchange, scan, facts):
        raise Refused(why)


def _refusals(exchange: Exchange, scan: Scan, facts: Facts) -> Iterator[str]:
    stream, time, kept = scan.stream, exchange.time, scan.stream.keep is not None
    if kept:
        pass
    elif stream.source is None:
        yield "it has no source"
    elif why := connector(stream.source).only_spark:
        yield why
    if not facts.arrow:
        yield "the setting reader says so"
    stamped = stream.time_stamp is TimeStamp.EXTERNAL or (kept and stream.time is not None)
    if not stamped or time is None:
        yield "tuples are stamped as they arrive"
    elif trace(exchange.part, time) != (scan, stream.time):
        yield f"{time} is not its time stamp {stream.time}"
    if stream.punctuated_by is not None:
        yield "there is punctuation among its tuples"
    for column in stream.arriving_schema if not kept else ():
        if not column.nullable:
            yield f"each row is checked for NULL in {column.name}"
    if stream.source is not None and not kept:
        files = facts.files(stream.source)
        if not files.local:
            yield "its files are not on this machine"
        if files.parted:
            yield "there are values in the names of its folders"
