"""Plans to Spark frames: one small function per node of the algebra."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StructField, StructType

from millstream.catalog.definitions import HistoryTable
from millstream.catalog.select import AggregateCall
from millstream.connectors import arrivals
from millstream.connectors.registry import connector
from millstream.connectors.sources import open_rejected, open_stream, open_table
from millstream.expressions.compile.spark import spark_text
from millstream.operators.window_aggregate_job import ARRIVAL
from millstream.plan.algebra import AssignWindows, Derived, Filter, OverAggregate, Project, Unnest, WindowAggregate
from millstream.plan.bounded import Distinct, Limit, Sort
from millstream.plan.joins_and_unions import MergeOrdered, TableJoin, Union, Unique, WindowJoin
from millstream.plan.physical.answer_here import AnswerHere
from millstream.plan.physical.index_registrations import IndexedMatch
from millstream.plan.physical.nodes import InStage, Noted, Observed, SparkRead, Stage
from millstream.plan.scans import LateScan, OneRow, RejectedScan, Scan, TableScan
from millstream.plan.split import SHARE, Split
from millstream.spark import mark_rows
from millstream.spark.host import Host
from millstream.spark.lower.assign_windows import assign_windows
from millstream.spark.lower.join_lowering import lower_join, lower_table_join
from millstream.spark.lower.lower import lower
from millstream.spark.lower.match_lowering import lower_match
from millstream.spark.lower.time_bounds import bound_of
from millstream.spark.lower.window_lowering import lower_over, lower_tuples, lower_window
from millstream.spark.metrics import ROWS, STEP
from millstream.spark.names import quoted
from millstream.spark.stage.arrival_order import FILE, FILE_SQL, TASK, numbering_rows
from millstream.spark.stage.arrival_order import ROW as PLACE
from millstream.spark.stage.marks import HIDDEN, LEFT_OUT, MARK

__all__ = ["lower"]

ROW = "__row"


@lower.register
def _one_row(node: OneRow, host: Host, marked: bool = False) -> DataFrame:
    return host.spark.range(1).select()


@lower.register
def _scan(node: Scan, host: Host, marked: bool = False) -> DataFrame:
    found = open_stream(host, node.stream)
    files = node.stream.source is not None and connector(node.stream.source).files
    filed = node.ordered and files and node.stream.keep is None
    if found.filed and not filed:
        found = replace(found, frame=found.frame.drop(FILE))
    elif filed and not found.filed:
        found = replace(found, frame=found.frame.withColumn(FILE, F.expr(FILE_SQL)))
    bound = None if marked and not host.judges else bound_of(node.stream, host)
    return arrivals.tuples(found, node.stream, marked, node.again, bound)


@lower.register
def _rejected(node: RejectedScan, host: Host, marked: bool = False) -> DataFrame:
    return arrivals.select_rejected(open_rejected(host, node.stream), node.stream, bound_of(node.stream, host))


@lower.register
def _table(node: TableScan, host: Host, marked: bool = False) -> DataFrame:
    frame = open_table(host, node.table)
    if isinstance(node.table, HistoryTable):
        return frame  # tasks read it in the order of its positions
    filed = node.ordered and connector(node.table.source).files
    known = not connector(node.table.source).only_spark and FILE in frame.columns
    if known == filed:
        return frame
    return frame.withColumn(FILE, F.expr(FILE_SQL)) if filed else frame.drop(FILE)


@lower.register
def _derived(node: Derived, host: Host, marked: bool = False) -> DataFrame:
    return lower(node.below, host, marked)


@lower.register
def _filter(node: Filter, host: Host, marked: bool = False) -> DataFrame:
    frame = lower(node.below, host, marked)
    return mark_rows.filter_rows(frame, F.expr(spark_text(node.predicate)))


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
def _noted(node: Noted, host: Host, marked: bool = False) -> DataFrame:
    return lower(node.below, host, marked)


@lower.register
def _answer_here(node: AnswerHere, host: Host, marked: bool = False) -> DataFrame:
    return lower(node.below, host, marked)


@lower.register
def _spark_read(node: SparkRead, host: Host, marked: bool = False) -> DataFrame:
    return lower(node.below, host, marked)


@lower.register
def _observed(node: Observed, host: Host, marked: bool = False) -> DataFrame:
    frame = lower(node.below, host, marked)
    if isinstance(node.below, Split):
        given = [f"count_if({share} IS NOT NULL) AS {share}" for share in frame.columns]
        return host.observe(frame, f"{STEP}{node.number}", [F.expr(text) for text in given])
    tuples = " AND ".join(f"{name} IS NULL" for name in (MARK, LEFT_OUT) if name in frame.columns) or "true"
    return host.observe(frame, f"{STEP}{node.number}", [F.expr(f"count_if({tuples}) AS {ROWS}")])


@lower.register
def _in_stage(node: InStage, host: Host, marked: bool = False) -> DataFrame:
    return lower(node.below, host, marked)


@lower.register
def _stage(node: Stage, host: Host, marked: bool = False) -> DataFrame:
    match node.step:
        case WindowAggregate() as step:
            return lower_window(node, step, host, marked)
        case OverAggregate() as step:
            return lower_over(node, step, host, marked)
        case WindowJoin() as step:
            return lower_join(node, step, host, marked)
        case Unique() | MergeOrdered() | LateScan() as step:
            return lower_tuples(node, step, host, marked)
    raise NotImplementedError(f"no stage for {type(node.step).__name__}")


@lower.register
def _unnest(node: Unnest, host: Host, marked: bool = False) -> DataFrame:
    return reduce(_explode_rows, node.calls, lower(node.below, host, marked))


def _explode_rows(frame: DataFrame, call: AggregateCall) -> DataFrame:
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
def _table_join(node: TableJoin, host: Host, marked: bool = False) -> DataFrame:
    left = lower(node.left, host, marked)
    if node.ordered and ARRIVAL not in left.columns:  # Spark may mix tuples up to join them
        schema = StructType([*left.schema.fields, *(StructField(name, LongType()) for name in (TASK, PLACE))])
        left = left.mapInArrow(numbering_rows(), schema) if PLACE not in left.columns else left
    return lower_table_join(node, left, lower(node.right, host))


@lower.register
def _match(node: IndexedMatch, host: Host, marked: bool = False) -> DataFrame:
    return lower_match(node, lower(node.below, host, marked), host)


@lower.register
def _assign_windows(node: AssignWindows, host: Host, marked: bool = False) -> DataFrame:
    return assign_windows(node, lower(node.below, host, marked))


@lower.register
def _sort(node: Sort, host: Host, marked: bool = False) -> DataFrame:
    terms = []
    for term in node.terms:
        key = F.expr(spark_text(term.value))
        if term.descending:
            terms.append(key.desc_nulls_first() if term.nulls_first else key.desc_nulls_last())
        else:
            terms.append(key.asc_nulls_first() if term.nulls_first else key.asc_nulls_last())
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
