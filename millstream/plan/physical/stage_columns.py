"""The columns that a stage wants of its tuples: keys, what its calls read, and what it carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from millstream.aggregates.choice import Choice
from millstream.catalog.schema import UNKNOWN
from millstream.catalog.select import AggregateCall, Item, OverAggregateSpec, WindowAggregateSpec
from millstream.expressions.build.bound import cast_to, column_of
from millstream.expressions.compile.spark import spark_text
from millstream.expressions.tree import INT64, OnlySpark, Value
from millstream.operators.join.window_join_job import key_name
from millstream.operators.window_aggregate_job import ARRIVAL
from millstream.plan.algebra import Node, OverAggregate, WindowAggregate
from millstream.plan.joins_and_unions import MergeOrdered, Unique, WindowJoin
from millstream.plan.physical.nodes import Columns
from millstream.plan.scans import LateScan

COUNT = "count_star"


def stage_columns(step: Node, port: int = 0, ordered: bool = False) -> Columns:
    """What is computed of the tuples that come to a step with state, on one side of it.

    Where they are not `ordered`, some calls choose among tuples of one time by a number that follows from the values.
    """
    match step:
        case WindowAggregate(window_aggregate=work):
            columns = _computed(work.keys)
            argument_columns(counted_apart(work)[1], columns)
            return columns if ordered or not _chooses(work) else {**columns, ARRIVAL: _by_lot(columns.values())}
        case OverAggregate(over_aggregate=framed):
            return _framed(step, framed)
        case WindowJoin():
            return _side(step, port)
        case Unique(names=names) | MergeOrdered(names=names):
            return {state: _column(step.below, name) for name, state in state_names(names).items()}
        case LateScan(stream=stream):
            return {column.name: column_of(column.name, column.type) for column in stream.schema}
    raise NotImplementedError(f"no columns are known for {type(step).__name__}")


def state_names(*inputs: Sequence[str]) -> Mapping[str, str]:
    """What the columns of tuples are called in the state, by their places: how a query names them, may change.

    >>> state_names(["price", "ts"], ["name"])
    {'price': '__c0', 'ts': '__c1', 'name': '__c2'}
    """
    return {name: f"__c{place}" for place, name in enumerate(chain(*inputs))}


def counted_apart(windowed: WindowAggregateSpec) -> tuple[tuple[str, ...], Sequence[AggregateCall]]:
    """The names of plain counts of rows, and the other calls: how many rows a group has is always known."""
    plain = [c.name for c in windowed.calls if c.aggregate.name == COUNT and c.condition is None]
    return tuple(plain), [c for c in windowed.calls if c.name not in plain]


def argument_columns(
    calls: Iterable[AggregateCall], columns: dict[str, Value]
) -> list[tuple[tuple[str, ...], str | None]]:
    """For each call the columns of its arguments and of its condition; what two of them read is computed once."""
    by_text: dict[str, str] = {}

    def column(expression: Value) -> str:
        text = spark_text(expression)
        if text not in by_text:
            by_text[text] = f"__a{len(by_text)}"
            columns[by_text[text]] = expression
        return by_text[text]

    return [
        (tuple(column(a) for a in call.arguments), None if call.condition is None else column(call.condition))
        for call in calls
    ]


def _computed(items: Iterable[Item]) -> dict[str, Value]:
    return {item.name: item.expression for item in items}


def _framed(step: OverAggregate, framed: OverAggregateSpec) -> Columns:
    columns = {state: _column(step.below, name) for name, state in state_names(framed.carried).items()}
    columns.update(_computed(framed.keys))
    argument_columns([each.call for each in framed.calls], columns)
    return columns


def _side(step: WindowJoin, port: int) -> Columns:
    names = state_names(*step.columns)
    below = step.inputs[port]
    columns: dict[str, Value] = {names[name]: _column(below, name) for name in step.columns[port]}
    for number, equality in enumerate(step.equalities):
        term = equality.left if port == 0 else equality.right
        columns[key_name(number)] = cast_to(term, equality.type)
    return columns


def _chooses(work: WindowAggregateSpec) -> bool:
    """Whether a call chooses one of several tuples of one time; windows of tuples in order know which comes first."""
    return not work.window.depends_on_arrival and any(
        isinstance(call.aggregate, Choice) and call.aggregate.by_order for call in work.calls
    )


def _by_lot(columns: Iterable[Value]) -> Value:
    """In place of an arrival that nobody knows a number that follows from the values: all calls choose one tuple."""
    return OnlySpark("xxhash64", tuple(columns), INT64)


def _column(below: Node, name: str) -> Value:
    found = below.schema.find(name)
    return column_of(name, UNKNOWN if found is None else found.type)
