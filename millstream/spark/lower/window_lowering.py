"""What has state, on Spark: the operators of windows and of unions, each in a stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.aggregates.choice import Choice
from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import find
from millstream.catalog import select as bound
from millstream.catalog.arrow import to_arrow
from millstream.catalog.select import AggregateCall, Item
from millstream.operators.answers import EMITTED, END, STAMP, START
from millstream.operators.ordered.merge_ordered import MergeOrdered as MergeOrderedTuples
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.panes.partials import renumbered
from millstream.operators.registry import Make, Runner, runner
from millstream.operators.tuples.late import LateTuples
from millstream.operators.tuples.unique_tuples import UniqueTuples
from millstream.operators.window_aggregate_job import ARRIVAL, PANE, TIME, Call, WindowAggregateJob
from millstream.plan.algebra import OverAggregate, WindowAggregate
from millstream.plan.joins_and_unions import MergeOrdered, Unique
from millstream.plan.physical.nodes import Stage
from millstream.plan.physical.stage_columns import COUNT, argument_columns, counted_apart, state_names
from millstream.plan.scans import LateScan
from millstream.spark.buckets import bucket_ids
from millstream.spark.host import Host
from millstream.spark.lower.key_sources import key_sources
from millstream.spark.lower.read_tables import with_tables
from millstream.spark.lower.stage_inputs import Inflow
from millstream.spark.lower.stage_lowering import ANSWER_TIME, StageJob, lower_stage, ordering, origin_of
from millstream.spark.stage.ingress import Inlet

RANK = "__rank"


def lower_window(stage: Stage, node: WindowAggregate, host: Host, marked: bool) -> DataFrame:
    """The frame that computes a window aggregate over its inputs."""
    inflows, done, work = window_job(stage, node, host)
    frame = lower_stage(stage, inflows, done, host, marked)
    whole = work.window.whole and not work.keys and not stage.lists
    return _one_row(frame, work, done.answers, host) if whole else frame


def window_job(stage: Stage, node: WindowAggregate, host: Host) -> tuple[list[Inflow], StageJob, WindowAggregateJob]:
    """What the stage of a window aggregate does with which inputs."""
    ordered = all(feed.ordered for feed in stage.feeds)
    work = _work(node.window_aggregate, host, Aggregate if ordered else Choice)
    runs = runner(work.window)
    prepare = partial(runs.partial, work) if runs.partial is not None else None
    renumber = partial(renumbered, work) if prepare is not None else None
    typed = [(item.name, item.expression, item.type) for item in node.window_aggregate.keys]
    inflows = []
    for feed in stage.feeds:
        origin = origin_of(feed, host)
        order = ordering(feed.part, renumber if feed.partial else None) if feed.ordered else None
        sources = key_sources(feed.part, typed)
        inlet = Inlet(
            bucket_ids(host, feed.buckets.count), feed.keys, prepare if feed.partial else None, origin.promised, sources
        )
        inflows.append(Inflow(feed, replace(inlet, busy=_busy(work), order=order), origin, host))
    make = partial(_made_by(runs, work), work)
    return inflows, StageJob(make, _answers(work, node.schema.names), _window_promises(work)), work


def _one_row(frame: DataFrame, work: WindowAggregateJob, answers: pa.Schema, host: Host) -> DataFrame:
    """The one answer over a whole table, which has one also if it is empty: count(*) is 0 then."""
    nothing = {n: c.aggregate.finish(c.aggregate.zero(1)) for c in work.calls for n in c.names}
    empty = pa.table({f.name: nothing.get(f.name, pa.nulls(1, f.type)).cast(f.type) for f in answers})
    counted = host.spark.createDataFrame(empty).withColumn(RANK, F.lit(1)).union(frame.withColumn(RANK, F.lit(0)))
    return counted.orderBy(RANK).limit(1).drop(RANK)


def lower_over(stage: Stage, node: OverAggregate, host: Host, marked: bool) -> DataFrame:
    """The frame that adds the answers of OVER to its inputs."""
    return lower_stage(stage, *over_job(stage, node, host), host, marked)


def over_job(stage: Stage, node: OverAggregate, host: Host) -> tuple[list[Inflow], StageJob]:
    """What the stage of OVER does with which inputs."""
    work = _frames(node.over_aggregate, host)
    inflows = _inflows(stage, host)
    names = {state: name for name, state in state_names(node.over_aggregate.carried).items()}
    carried = [inflows[0].schema.field(state).with_name(name) for state, name in names.items()]
    if node.ordered and all(feed.ordered for feed in stage.feeds):
        work = replace(work, carried=(*work.carried, ARRIVAL))
        carried.append(pa.field(ARRIVAL, pa.int64()))
    results = [pa.field(n, c.call.aggregate.result) for c in work.calls for n in c.call.names]
    make = partial(runner(work.calls[0].window).make, work)
    return inflows, StageJob(make, pa.schema([*carried, *results]), ((ANSWER_TIME, 0),), names)


def lower_tuples(stage: Stage, node: Unique | MergeOrdered | LateScan, host: Host, marked: bool) -> DataFrame:
    """The frame of a stage whose answers are tuples as they came."""
    return lower_stage(stage, *tuples_job(stage, node, host), host, marked)


def tuples_job(stage: Stage, node: Unique | MergeOrdered | LateScan, host: Host) -> tuple[list[Inflow], StageJob]:
    """What the stage of such answers does with which inputs."""
    inflows = _inflows(stage, host)
    if isinstance(node, LateScan):
        return inflows, StageJob(LateTuples, inflows[0].schema)
    names = {state: name for name, state in state_names(node.names).items()}
    make = partial(UniqueTuples, tuple(names)) if isinstance(node, Unique) else MergeOrderedTuples
    answers = pa.schema([field.with_name(names[field.name]) for field in inflows[0].schema])
    return inflows, StageJob(make, answers, ((ANSWER_TIME, 0),), names)


def _inflows(stage: Stage, host: Host) -> list[Inflow]:
    inflows = []
    for feed in stage.feeds:
        origin = origin_of(feed, host)
        order = ordering(feed.part) if feed.ordered else None
        inlet = Inlet(bucket_ids(host, feed.buckets.count), feed.keys, promised=origin.promised, order=order)
        inflows.append(Inflow(feed, inlet, origin, host))
    return inflows


# -- operators ---------------------------------------------------------------------------------------------


def _made_by(runs: Runner, work: WindowAggregateJob) -> Make:
    """What runs in the stage."""
    if not work.from_first:
        return runs.make
    if runs.from_first is None:
        raise NotImplementedError(f"{work.window.noun} cannot begin at the first tuple")
    return runs.from_first


def _busy(work: WindowAggregateJob) -> str | None:
    """What tells where tuples came to, for windows of which all buckets must know that."""
    paned = work.window.paned
    if paned is None or not paned.endless:
        return None
    return TIME if work.from_first else PANE


def _work(windowed: bound.WindowAggregateSpec, host: Host, told: type[object]) -> WindowAggregateJob:
    """What the operator does; some kind of aggregate is told of arrival."""
    count = find(COUNT)
    assert count is not None  # noqa: S101
    # The count of rows says which groups are there; whoever asks for it gets the same.
    plain, others = counted_apart(windowed)
    found = _calls(others, host)
    if not windowed.window.depends_on_arrival:  # those that do know the order of their tuples
        found = [_told(call) if isinstance(call.aggregate, told) else call for call in found]
    calls = (Call(count([]), names=plain), *found)
    work = WindowAggregateJob(_typed(windowed.keys), calls, windowed.window, windowed.partition)
    return replace(work, emit=windowed.emit, from_first=windowed.from_first)


def _frames(framed: bound.OverAggregateSpec, host: Host) -> OverAggregateJob:
    calls = _calls([c.call for c in framed.calls], host)
    names = state_names(framed.carried)
    windows = [
        f.window if f.window.stamp is None else f.window.stamped_by(names.get(f.window.stamp)) for f in framed.calls
    ]
    pairs = zip(calls, windows, strict=True)
    return OverAggregateJob(_typed(framed.keys), tuple(OverCall(c, w) for c, w in pairs), tuple(names.values()))


def _calls(calls: Sequence[AggregateCall], host: Host) -> list[Call]:
    """The calls, over the columns that are computed for them."""
    read = zip(calls, argument_columns(calls, {}), strict=True)
    return [Call(with_tables(call, host), arguments, condition, (call.name,)) for call, (arguments, condition) in read]


def _told(call: Call) -> Call:
    """A call that reads in which order tuples arrived, if that matters to it."""
    if not call.aggregate.by_order:
        return call
    return replace(call, aggregate=call.aggregate.told_of_arrival(), arguments=(*call.arguments, ARRIVAL))


def _typed(keys: Sequence[Item]) -> tuple[tuple[str, pa.DataType], ...]:
    typed = []
    for item in keys:
        type_ = to_arrow(item.type)
        assert type_ is not None  # noqa: S101  (the binder refuses others)
        typed.append((item.name, type_))
    return tuple(typed)


def _answers(work: WindowAggregateJob, names: Iterable[str]) -> pa.Schema:
    """The columns that cross to Spark."""
    fields = {field.name: field for field in work.results}
    fields.update((name, pa.field(name, type_)) for name, type_ in work.keys)
    fields.update((field.name, field) for field in (pa.field(START, STAMP), pa.field(END, STAMP)))
    fields[EMITTED] = pa.field(EMITTED, pa.string())
    return pa.schema([fields[name] for name in names])


# -- progress ----------------------------------------------------------------------------------------------


def _window_promises(work: WindowAggregateJob) -> tuple[tuple[str, int], ...]:
    """What a stage can promise of its answers: their ends, and their starts if it is known how far back they lie."""
    length = work.window.length
    return ((END, 0),) if length is None else ((END, 0), (START, length))
