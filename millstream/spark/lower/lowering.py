"""Plans to Spark frames: one small function per node of the algebra."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StructField, StructType
from sqlglot import exp

from millstream.catalog.definitions import AggregateCall
from millstream.connectors import arrivals
from millstream.connectors.registry import connector
from millstream.connectors.sources import open_rejected, open_stream, open_table
from millstream.operators.grouped import ARRIVAL
from millstream.plan.algebra import (
    AssignWindows,
    Derived,
    Filter,
    LateScan,
    Node,
    OneRow,
    OverAggregate,
    Project,
    RejectedScan,
    Scan,
    TableScan,
    Unnest,
    WindowAggregate,
)
from millstream.plan.bounded import Distinct, Limit, Sort
from millstream.plan.several import MergeOrdered, TableJoin, Union, Unique, WindowJoin
from millstream.plan.split import SHARE, Split
from millstream.plan.trace import parts
from millstream.spark import mark_rows
from millstream.spark.expressions import spark_text
from millstream.spark.host import Host
from millstream.spark.lower.assign_windows import assign_windows
from millstream.spark.lower.inflow import Input
from millstream.spark.lower.join_lowering import lower_join, lower_table_join
from millstream.spark.lower.lower import lower
from millstream.spark.lower.staging import AS_THEY_ARE, Given
from millstream.spark.lower.time_bounds import bound_of
from millstream.spark.lower.window_lowering import lower_late, lower_ordered, lower_over, lower_unique, lower_window
from millstream.spark.names import quoted
from millstream.spark.stage.arrival_order import FILE, FILE_SQL, TASK, numbering_rows
from millstream.spark.stage.arrival_order import ROW as PLACE
from millstream.spark.stage.marks import HIDDEN, MARK
from millstream.spark.stage.unnest import nested

__all__ = ["lower"]

ROW = "__row"

Stage = WindowAggregate | OverAggregate | WindowJoin
"""The stages that may make something of their answers before they cross to Spark."""


@lower.register
def _one_row(node: OneRow, host: Host, marked: bool = False) -> DataFrame:
    return host.spark.range(1).select()


@lower.register
def _scan(node: Scan, host: Host, marked: bool = False) -> DataFrame:
    found = open_stream(host, node.stream)
    filed = node.ordered and node.stream.source is not None and connector(node.stream.source).files
    if found.filed and not filed:
        found = replace(found, frame=found.frame.drop(FILE))
    elif filed and not found.filed:
        found = replace(found, frame=found.frame.withColumn(FILE, F.expr(FILE_SQL)))
    return arrivals.tuples(found, node.stream, marked, node.again, bound_of(node.stream, host))


@lower.register
def _rejected(node: RejectedScan, host: Host, marked: bool = False) -> DataFrame:
    return arrivals.rejected(open_rejected(host, node.stream), node.stream, bound_of(node.stream, host))


@lower.register
def _late(node: LateScan, host: Host, marked: bool = False) -> DataFrame:
    return lower_late(node, host)


@lower.register
def _table(node: TableScan, host: Host, marked: bool = False) -> DataFrame:
    frame = open_table(host, node.table)
    filed = node.ordered and connector(node.table.source).files
    known = node.table.source.kind == "parquet" and FILE in frame.columns
    if known == filed:
        return frame
    return frame.withColumn(FILE, F.expr(FILE_SQL)) if filed else frame.drop(FILE)


@lower.register
def _derived(node: Derived, host: Host, marked: bool = False) -> DataFrame:
    return lower(node.below, host, marked)


@lower.register
def _filter(node: Filter, host: Host, marked: bool = False) -> DataFrame:
    match node.below:
        case WindowAggregate() | OverAggregate() | WindowJoin() as stage:
            return _stage(stage, host, marked, Given(where=node.predicate))
        case Unnest() as rows:
            return _rows(rows, host, marked, node.predicate)
    frame = lower(node.below, host, marked)
    return mark_rows.filtered(frame, F.expr(spark_text(node.predicate)))


@lower.register
def _project(node: Project, host: Host, marked: bool = False) -> DataFrame:
    # As text: each function of a column would be several calls to the JVM.
    columns = [f"{spark_text(i.expression)} AS {quoted(i.name)}" for i in node.items]
    frame = lower(node.below, host, marked)
    return frame.selectExpr(*columns, *[quoted(c) for c in HIDDEN if c in frame.columns])


@lower.register
def _split(node: Split, host: Host, marked: bool = False) -> DataFrame:
    shares = []
    for number, output in enumerate(node.outputs):
        row = F.struct(*[F.expr(spark_text(i.expression)).alias(i.name) for i in output.items])
        if output.where is not None:
            row = F.when(F.expr(spark_text(output.where)), row)
        shares.append(row.alias(f"{SHARE}{number}"))
    return lower(node.below, host).select(*shares)


@lower.register
def _window_aggregate(node: WindowAggregate, host: Host, marked: bool = False) -> DataFrame:
    return _stage(node, host, marked)


@lower.register
def _over_aggregate(node: OverAggregate, host: Host, marked: bool = False) -> DataFrame:
    return _stage(node, host, marked)


@lower.register
def _window_join(node: WindowJoin, host: Host, marked: bool = False) -> DataFrame:
    return _stage(node, host, marked)


def _stage(node: Stage, host: Host, marked: bool, given: Given = AS_THEY_ARE) -> DataFrame:
    match node:
        case WindowAggregate(below=below):
            return lower_window(node, _inputs(below, host), host, marked, given)
        case OverAggregate(below=below):
            return lower_over(node, _inputs(below, host), host, marked, given)
        case WindowJoin(left=left, right=right):
            return lower_join(node, (_inputs(left, host), _inputs(right, host)), host, marked, given)


@lower.register
def _unnest(node: Unnest, host: Host, marked: bool = False) -> DataFrame:
    return _rows(node, host, marked)


def _rows(node: Unnest, host: Host, marked: bool, where: exp.Expression | None = None) -> DataFrame:
    """Answers that are lists as rows, and of these those for which a condition holds."""
    match node.below:
        case WindowAggregate(windowed=windowed) as stage:
            own = [c for c in node.calls if c in windowed.calls]
        case OverAggregate(framed=framed) as stage:
            own = [c for c in node.calls if any(c == f.call for f in framed.calls)]
    others = [c for c in node.calls if c not in own]  # of a stage before
    frame = _stage(stage, host, marked, Given(nested(own), None if others else where))
    for call in others:
        frame = _exploded(frame, call)
    return mark_rows.filtered(frame, F.expr(spark_text(where))) if others and where is not None else frame


def _exploded(frame: DataFrame, call: AggregateCall) -> DataFrame:
    # A mark has no answers, and must pass all the same.
    rows = F.explode_outer(call.name) if MARK in frame.columns else F.explode(call.name)
    others = [F.col(quoted(c)) for c in frame.columns if c != call.name]
    exploded = frame.select(*others, rows.alias(ROW))
    if MARK in frame.columns:
        exploded = exploded.filter(F.col(MARK).isNotNull() | F.col(ROW).isNotNull())
    names = [column.name for column in call.rows or ()]
    fields = zip(names, call.columns, strict=True)
    return exploded.select(*others, *[F.col(ROW).getField(name).alias(column.name) for name, column in fields])


@lower.register
def _union(node: Union, host: Host, marked: bool = False) -> DataFrame:
    return reduce(DataFrame.union, [lower(part, host) for part in node.parts])


@lower.register
def _unique(node: Unique, host: Host, marked: bool = False) -> DataFrame:
    return lower_unique(node, _inputs(node.below, host), host, marked)


@lower.register
def _merge_ordered(node: MergeOrdered, host: Host, marked: bool = False) -> DataFrame:
    return lower_ordered(node, _inputs(node.below, host), host, marked)


@lower.register
def _table_join(node: TableJoin, host: Host, marked: bool = False) -> DataFrame:
    left = lower(node.left, host, marked)
    if node.ordered and ARRIVAL not in left.columns:  # Spark may mix tuples up to join them
        schema = StructType([*left.schema.fields, *(StructField(name, LongType()) for name in (TASK, PLACE))])
        left = left.mapInArrow(numbering_rows(), schema) if PLACE not in left.columns else left
    return lower_table_join(node, left, lower(node.right, host))


def _inputs(node: Node, host: Host) -> list[Input]:
    """The inputs that a stage reads as one."""
    return [Input(part, host) for part in parts(node)]


@lower.register
def _assign_windows(node: AssignWindows, host: Host, marked: bool = False) -> DataFrame:
    return assign_windows(node, lower(node.below, host, marked))


@lower.register
def _sort(node: Sort, host: Host, marked: bool = False) -> DataFrame:
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
def _distinct(node: Distinct, host: Host, marked: bool = False) -> DataFrame:
    return lower(node.below, host).distinct()


@lower.register
def _limit(node: Limit, host: Host, marked: bool = False) -> DataFrame:
    frame = lower(node.below, host)
    if node.offset:
        frame = frame.offset(node.offset)
    return frame if node.limit is None else frame.limit(node.limit)
