"""Joins on Spark: within windows in a stage, with tables in Catalyst."""

from __future__ import annotations

from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.arrow import to_arrow
from millstream.expressions.compile.arrow import arrow_condition
from millstream.expressions.compile.spark import spark_text
from millstream.expressions.reading import renamed
from millstream.operators.join.window_join import WindowJoin as WindowJoinOperator
from millstream.operators.join.window_join_job import WindowJoinJob, key_name
from millstream.plan.joins_and_unions import JOINT, TableJoin, WindowJoin
from millstream.plan.physical.nodes import Stage
from millstream.plan.physical.stage_columns import state_names
from millstream.spark import mark_rows
from millstream.spark.buckets import bucket_ids
from millstream.spark.host import Host
from millstream.spark.lower.key_sources import key_sources
from millstream.spark.lower.stage_inputs import Inflow
from millstream.spark.lower.stage_lowering import StageJob, lower_stage, origin_of
from millstream.spark.names import quoted
from millstream.spark.stage.ingress import Inlet
from millstream.spark.stage.marks import HIDDEN, MARK
from millstream.windows.join_kind import JoinKind

HIT = "__hit"
"""A column that is NULL where a tuple has no row of the table."""

_SPARK_KINDS = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT: "left_outer",
    JoinKind.RIGHT: "right_outer",
    JoinKind.FULL: "full_outer",
    JoinKind.SEMI: "left_semi",
    JoinKind.ANTI: "left_anti",
}


def lower_join(stage: Stage, node: WindowJoin, host: Host, marked: bool) -> DataFrame:
    """The frame of a window join over the inputs of its sides."""
    keys = tuple(key_name(i) for i in range(len(node.equalities)))
    inflows: list[Inflow] = []
    for feed in stage.feeds:
        named = zip(keys, node.equalities, strict=True)
        terms = [(name, e.left if feed.port == 0 else e.right, e.type) for name, e in named]
        origin = origin_of(feed, host)
        sources = key_sources(feed.part, terms)
        inlet = Inlet(bucket_ids(host, feed.buckets.count), feed.keys, promised=origin.promised, sources=sources)
        inflows.append(Inflow(feed, inlet, origin, host))
    first = [next(flow for flow in inflows if flow.exchange.port == port) for port in range(2)]
    names = state_names(*node.columns)
    schemas = [
        pa.schema([flow.schema.field(names[name]) for name in columns])
        for flow, columns in zip(first, node.columns, strict=True)
    ]
    residual = None
    if node.residual is not None:
        residual = arrow_condition(renamed(node.residual, {name.lower(): state for name, state in names.items()}))
    promised = (*node.times, JOINT)
    key_types = tuple(to_arrow(e.type) for e in node.equalities)
    job = WindowJoinJob(node.kind, node.reach, len(keys), schemas[0], schemas[1], residual, promised, key_types)
    stated = {state: name for name, state in names.items()}
    answers = pa.schema([field.with_name(stated[field.name]) for field in job.answers])
    return lower_stage(stage, inflows, StageJob(partial(WindowJoinOperator, job), answers, names=stated), host, marked)


def lower_table_join(node: TableJoin, left: DataFrame, right: DataFrame) -> DataFrame:
    """The frame of a join with a table. What speaks of progress among the tuples passes, whatever the table holds."""
    condition = F.lit(True) if node.condition is None else F.expr(spark_text(node.condition))
    hidden = [name for name in HIDDEN if name in left.columns]
    if not hidden:
        return left.join(right, condition, _SPARK_KINDS[node.kind])
    tuples = F.col(MARK).isNull() if MARK in left.columns else F.lit(True)
    names = [F.col(quoted(c)) for c in left.columns if c not in hidden]
    theirs = [F.col(quoted(c)) for c in right.columns] if node.kind.paired else []
    if not node.kind.paired:  # each tuple must come out once, however many rows it matches
        keys = {key_name(i): e for i, e in enumerate(node.equalities)}
        right = right.select(*[F.expr(spark_text(e.right)).alias(name) for name, e in keys.items()]).distinct()
        terms = [F.expr(spark_text(e.left)) == F.col(name) for name, e in keys.items()]
        condition = reduce(lambda a, b: a & b, terms)
    joined = left.join(right.withColumn(HIT, F.lit(1)), condition & tuples, "left_outer")
    if node.kind in {JoinKind.INNER, JoinKind.SEMI}:
        joined = mark_rows.filter_rows(joined, F.col(HIT).isNotNull())
    elif node.kind is JoinKind.ANTI:
        joined = mark_rows.filter_rows(joined, F.col(HIT).isNull())
    return joined.select(*names, *theirs, *[F.col(n) for n in HIDDEN if n in joined.columns])
