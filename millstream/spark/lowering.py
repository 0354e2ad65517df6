"""Plans to Spark frames: one small function per node of the algebra."""

from __future__ import annotations

from functools import singledispatch

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from sqlglot import exp

from millstream.plan.algebra import (
    Derived,
    Distinct,
    Filter,
    LateScan,
    Limit,
    Node,
    OneRow,
    Project,
    RejectedScan,
    Scan,
    Sort,
    TableScan,
    WindowAggregate,
)
from millstream.spark import arrivals
from millstream.spark.expressions import spark_text
from millstream.spark.host import Host
from millstream.spark.sources import open_stream, open_table
from millstream.spark.window_lowering import lower_late, lower_window


@singledispatch
def lower(node: Node, host: Host) -> DataFrame:
    """The frame that computes a node."""
    raise NotImplementedError(f"no way to run {type(node).__name__} on Spark")


@lower.register
def _one_row(node: OneRow, host: Host) -> DataFrame:
    return host.spark.range(1).select()


@lower.register
def _scan(node: Scan, host: Host) -> DataFrame:
    return arrivals.tuples(open_stream(host, node.stream), node.stream)


@lower.register
def _rejected(node: RejectedScan, host: Host) -> DataFrame:
    return arrivals.rejected(open_stream(host, node.stream), node.stream)


@lower.register
def _late(node: LateScan, host: Host) -> DataFrame:
    return lower_late(node.stream, lower(Scan(node.stream), host), host)


@lower.register
def _table(node: TableScan, host: Host) -> DataFrame:
    return open_table(host, node.table)


@lower.register
def _derived(node: Derived, host: Host) -> DataFrame:
    return lower(node.below, host)


@lower.register
def _filter(node: Filter, host: Host) -> DataFrame:
    return lower(node.below, host).filter(F.expr(spark_text(node.predicate)))


@lower.register
def _project(node: Project, host: Host) -> DataFrame:
    columns = [F.expr(spark_text(i.expression)).alias(i.name) for i in node.items]
    return lower(node.below, host).select(*columns)


@lower.register
def _window_aggregate(node: WindowAggregate, host: Host) -> DataFrame:
    return lower_window(node, lower(node.below, host), host)


@lower.register
def _sort(node: Sort, host: Host) -> DataFrame:
    terms = []
    for term in node.terms:
        key = F.expr(spark_text(term.this if isinstance(term, exp.Ordered) else term))
        descending = isinstance(term, exp.Ordered) and bool(term.args.get("desc"))
        nulls_first = term.args.get("nulls_first") if isinstance(term, exp.Ordered) else not descending
        if descending:
            terms.append(key.desc_nulls_first() if nulls_first else key.desc_nulls_last())
        else:
            terms.append(key.asc_nulls_first() if nulls_first else key.asc_nulls_last())
    return lower(node.below, host).orderBy(*terms)


@lower.register
def _distinct(node: Distinct, host: Host) -> DataFrame:
    return lower(node.below, host).distinct()


@lower.register
def _limit(node: Limit, host: Host) -> DataFrame:
    frame = lower(node.below, host)
    if node.offset:
        frame = frame.offset(node.offset)
    return frame if node.limit is None else frame.limit(node.limit)
