"""What has state, on Spark: the operators of windows and of unions, each in a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from sqlglot import exp

from millstream.aggregates.choice import Choice
from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import find
from millstream.catalog import definitions as bound
from millstream.catalog.arrow import to_arrow
from millstream.catalog.definitions import AggregateCall, Item
from millstream.operators.answers import EMITTED, END, STAMP, START
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.grouped import ARRIVAL, PANE, TIME, Call, Grouped
from millstream.operators.ordered.merge_ordered import MergeOrdered as MergeOrderedTuples
from millstream.operators.over.framed import Framed, FramedCall
from millstream.operators.panes.partials import renumbered
from millstream.operators.registry import runner
from millstream.operators.tuples.late import LateTuples
from millstream.operators.tuples.unique_tuples import UniqueTuples
from millstream.plan.algebra import LateScan, OverAggregate, Scan, WindowAggregate
from millstream.plan.passes.carry_arrival import needs_arrival, tells_arrival
from millstream.plan.several import MergeOrdered, Unique
from millstream.spark.buckets import bucket_ids
from millstream.spark.expressions import spark_text
from millstream.spark.host import Host
from millstream.spark.lower.inflow import Inflow, Input
from millstream.spark.lower.key_sources import key_sources
from millstream.spark.lower.read_tables import with_tables
from millstream.spark.lower.staging import (
    ANSWER_TIME,
    AS_THEY_ARE,
    Given,
    Work,
    column_of,
    ordering,
    origin_of,
    staged,
    state_names,
    turned,
)
from millstream.spark.stage.ingress import Inlet
from millstream.spark.stage.unnest import unnested_schema

RANK = "__rank"


def lower_window(
    node: WindowAggregate, inputs: Sequence[Input], host: Host, marked: bool, given: Given = AS_THEY_ARE
) -> DataFrame:
    """The frame that computes a window aggregate over its inputs."""
    ordered = needs_arrival(node) and all(tells_arrival(each.part) for each in inputs)
    work, columns = _work(node.windowed, host, Aggregate if ordered else Choice)
    if not ordered and any(call.aggregate.arriving for call in work.calls):
        columns[ARRIVAL] = _chosen_by_lot(columns.values())
    make, prepare = _operator(work)
    renumber = partial(renumbered, work) if prepare is not None else None
    keys = tuple(work.key_names[: work.partition] if work.window.depends_on_data else work.key_names)
    typed = [(item.name, item.expression, item.type) for item in node.windowed.keys]
    inflows = []
    for each in inputs:
        origin = origin_of(each.part, node.windowed.time, host)
        inlet = Inlet(bucket_ids(host), keys, prepare, origin.promised, key_sources(each.part, typed))
        order = ordering(each.part, renumber) if ordered else None
        inflows.append(Inflow(each, columns, replace(inlet, busy=_busy(work), order=order), origin))
    answers = unnested_schema(_answers(work, node.schema.names), given.lists)
    stage = Work(node.number, make, answers, _window_promises(work), given)
    if not work.window.whole or work.keys or given.lists:
        return staged(inflows, stage, host, marked)
    # No row may be left out before it is seen whether there is one.
    found = _one_row(staged(inflows, replace(stage, given=AS_THEY_ARE), host, marked), work, answers, host)
    return found if given.where is None else found.filter(F.expr(spark_text(given.where)))


def _one_row(frame: DataFrame, work: Grouped, answers: pa.Schema, host: Host) -> DataFrame:
    """The one answer over a whole table, which has one also if it is empty: count(*) is 0 then."""
    nothing = {n: c.aggregate.finish(c.aggregate.zero(1)) for c in work.calls for n in c.names}
    empty = pa.table({f.name: nothing.get(f.name, pa.nulls(1, f.type)).cast(f.type) for f in answers})
    counted = host.spark.createDataFrame(empty).withColumn(RANK, F.lit(1)).union(frame.withColumn(RANK, F.lit(0)))
    return counted.orderBy(RANK).limit(1).drop(RANK)


def lower_over(
    node: OverAggregate, inputs: Sequence[Input], host: Host, marked: bool, given: Given = AS_THEY_ARE
) -> DataFrame:
    """The frame that adds the answers of OVER to its inputs."""
    work, columns = _frames(node.framed, host)
    ordered = (node.ordered or needs_arrival(node)) and all(tells_arrival(each.part) for each in inputs)
    inflows = []
    for each in inputs:
        origin = origin_of(each.part, node.framed.time, host)
        order = ordering(each.part) if ordered else None
        inlet = Inlet(bucket_ids(host), tuple(work.partition_names), promised=origin.promised, order=order)
        inflows.append(Inflow(each, columns, inlet, origin))
    names = turned(state_names(node.framed.carried))
    carried = [inflows[0].schema.field(state).with_name(name) for state, name in names.items()]
    if ordered and node.ordered:
        work = replace(work, carried=(*work.carried, ARRIVAL))
        carried.append(pa.field(ARRIVAL, pa.int64()))
    results = [pa.field(n, c.call.aggregate.result) for c in work.calls for n in c.call.names]
    answers = unnested_schema(pa.schema([*carried, *results]), given.lists)
    make = partial(runner(work.calls[0].window).make, work)
    return staged(inflows, Work(node.number, make, answers, ((ANSWER_TIME, 0),), given, names), host, marked)


def lower_late(node: LateScan, host: Host) -> DataFrame:
    """The frame of a stream's late tuples."""
    part = Scan(node.stream)
    columns = {name: column_of(name) for name in node.stream.schema.names}
    origin = origin_of(part, node.stream.time, host)
    flow = Inflow(Input(part, host), columns, Inlet(bucket_ids(host), None), origin)
    return staged([flow], Work(node.number, LateTuples, flow.schema), host, marked=False)


def lower_unique(node: Unique, inputs: Sequence[Input], host: Host, marked: bool) -> DataFrame:
    """The frame of tuples that are each there once."""
    names = tuple(state_names(node.names).values())
    return _tuples(node, names, partial(UniqueTuples, names), inputs, host, marked)


def lower_ordered(node: MergeOrdered, inputs: Sequence[Input], host: Host, marked: bool) -> DataFrame:
    """The frame of tuples in the order of their time stamps: all in one bucket, or there would be no order."""
    return _tuples(node, (), MergeOrderedTuples, inputs, host, marked)


def _tuples(
    node: Unique | MergeOrdered,
    keys: tuple[str, ...],
    make: Callable[[Blobs], Operator],
    inputs: Sequence[Input],
    host: Host,
    marked: bool,
) -> DataFrame:
    """A stage whose answers are tuples as they came."""
    names = turned(state_names(node.names))
    columns = {state: column_of(name) for state, name in names.items()}
    ordered = needs_arrival(node) and all(tells_arrival(each.part) for each in inputs)
    inflows = []
    for each in inputs:
        origin = origin_of(each.part, node.time, host)
        order = ordering(each.part) if ordered else None
        inlet = Inlet(bucket_ids(host), keys, promised=origin.promised, order=order)
        inflows.append(Inflow(each, columns, inlet, origin))
    answers = pa.schema([field.with_name(names[field.name]) for field in inflows[0].schema])
    return staged(inflows, Work(node.number, make, answers, ((ANSWER_TIME, 0),), names=names), host, marked)


# -- operators ---------------------------------------------------------------------------------------------


def _operator(work: Grouped) -> tuple[Callable[[Blobs], Operator], Callable[[pa.Table], pa.Table] | None]:
    """What runs in the stage, and what can be done before the shuffle."""
    runs = runner(work.window)
    if not work.from_first:
        return partial(runs.make, work), None if runs.partial is None else partial(runs.partial, work)
    if runs.from_first is None:
        raise NotImplementedError(f"{work.window.noun} cannot begin at the first tuple")
    return partial(runs.from_first, work), None


def _busy(work: Grouped) -> str | None:
    """What tells where tuples came to, for windows of which all buckets must know that."""
    paned = work.window.paned
    if paned is None or not paned.endless:
        return None
    return TIME if work.from_first else PANE


def _work(windowed: bound.Windowed, host: Host, told: type[object]) -> tuple[Grouped, dict[str, exp.Expression]]:
    """What the operator does, and the columns that are computed for it; some kind of aggregate is told of arrival."""
    columns = {item.name: item.expression for item in windowed.keys}
    count = find("count_star")
    assert count is not None  # noqa: S101
    # The count of rows says which groups are there; whoever asks for it gets the same.
    plain = [c.name for c in windowed.calls if c.aggregate.name == count.name and c.condition is None]
    others = [c for c in windowed.calls if c.name not in plain]
    found = _calls(others, columns, host)
    if not windowed.window.depends_on_arrival:  # those that do know the order of their tuples
        found = [_told(call) if isinstance(call.aggregate, told) else call for call in found]
    calls = (Call(count([]), names=tuple(plain)), *found)
    work = Grouped(_typed(windowed.keys), calls, windowed.window, windowed.partition)
    return replace(work, emit=windowed.emit, from_first=windowed.from_first), columns


def _frames(framed: bound.Framed, host: Host) -> tuple[Framed, dict[str, exp.Expression]]:
    names = state_names(framed.carried)
    columns = {state: column_of(name) for name, state in names.items()}
    columns.update((item.name, item.expression) for item in framed.keys)
    calls = _calls([c.call for c in framed.calls], columns, host)
    windows = [
        f.window if f.window.stamp is None else f.window.stamped_by(names.get(f.window.stamp)) for f in framed.calls
    ]
    pairs = zip(calls, windows, strict=True)
    return Framed(_typed(framed.keys), tuple(FramedCall(c, w) for c, w in pairs), tuple(names.values())), columns


def _calls(calls: Sequence[AggregateCall], columns: dict[str, exp.Expression], host: Host) -> list[Call]:
    """The calls, whose arguments and conditions are added to the columns; what is read twice is carried once."""
    by_text: dict[str, str] = {}

    def column(expression: exp.Expression) -> str:
        text = spark_text(expression)
        if text not in by_text:
            by_text[text] = f"__a{len(by_text)}"
            columns[by_text[text]] = expression
        return by_text[text]

    return [
        Call(
            with_tables(call, host),
            tuple(column(a) for a in call.arguments),
            None if call.condition is None else column(call.condition),
            (call.name,),
        )
        for call in calls
    ]


def _told(call: Call) -> Call:
    """A call that reads in which order tuples arrived, if that matters to it."""
    if not call.aggregate.by_order:
        return call
    return replace(call, aggregate=call.aggregate.told_of_arrival(), arguments=(*call.arguments, ARRIVAL))


def _chosen_by_lot(columns: Iterable[exp.Expression]) -> exp.Expression:
    """In place of an arrival that nobody knows a number that follows from the values: all calls choose one tuple."""
    return exp.Anonymous(this="xxhash64", expressions=[column.copy() for column in columns])


def _typed(keys: Sequence[Item]) -> tuple[tuple[str, pa.DataType], ...]:
    typed = []
    for item in keys:
        type_ = to_arrow(item.type)
        assert type_ is not None  # noqa: S101  (the binder refuses others)
        typed.append((item.name, type_))
    return tuple(typed)


def _answers(work: Grouped, names: Iterable[str]) -> pa.Schema:
    """The columns that cross to Spark."""
    fields = {field.name: field for field in work.results}
    fields.update((name, pa.field(name, type_)) for name, type_ in work.keys)
    fields.update((field.name, field) for field in (pa.field(START, STAMP), pa.field(END, STAMP)))
    fields[EMITTED] = pa.field(EMITTED, pa.string())
    return pa.schema([fields[name] for name in names])


# -- progress ----------------------------------------------------------------------------------------------


def _window_promises(work: Grouped) -> tuple[tuple[str, int], ...]:
    """What a stage can promise of its answers: their ends, and their starts if it is known how far back they lie."""
    length = work.window.length
    return ((END, 0),) if length is None else ((END, 0), (START, length))
