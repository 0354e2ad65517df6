"""What steps say of themselves: their keys, calls, columns and conditions as facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.count_star import CountStar
from millstream.catalog.arrow import to_sql
from millstream.catalog.schema import type_name
from millstream.catalog.select import AggregateCall, Item
from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.reading import terms_of
from millstream.expressions.tree import Call, OnlySpark, Value
from millstream.expressions.words import words
from millstream.expressions.written import CAST
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.lineage import Lineage
from millstream.structure import Structure
from millstream.udas.python.aggregate import PromisedAggregate
from millstream.windows.over import Over

ARRIVAL = "arrival"
"""What a window moves along where tuples have no time stamp."""


def keys(below: Lineage, items: Iterable[Item], what: str = "key") -> Iterator[Fact]:
    """What tuples are grouped by."""
    for item in items:
        kind = type_name(item.type)
        yield Fact(what, below.structure(item.expression), kind, f"{what} {words(item.expression)}", kind)


def call_structure(below: Lineage, call: AggregateCall, frame: Structure = None) -> Structure:
    """What a call computes of the rows below, over a frame of its own if it has one."""
    condition = None if call.condition is None else below.structure(call.condition)
    # The parameters of a user's aggregate have types, which are told apart from what is cast to them.
    read = tuple(
        below.structure(_strip_cast(a) if call.aggregate.definition is not None else a) for a in call.arguments
    )
    return (call.aggregate.name.lower(), call.aggregate.options, read, condition, frame)


def _strip_cast(argument: Value) -> Value:
    """What is cast to the type of a parameter."""
    match argument:
        case Call(arguments=[inner, *_]) if FUNCTIONS[argument.function].words is CAST:
            return inner
        case OnlySpark(name="cast", arguments=[inner]):
            return inner
    return argument


def call_facts(below: Lineage, call: AggregateCall, frame: Over | None = None) -> Iterator[Fact]:
    """A call, the types that it reads, what it keeps, and how a user has defined it.

    A plain count says nothing: it tells which groups there are, whether someone asks for it or not.
    """
    aggregate, about = call.aggregate, call_structure(below, call, None if frame is None else frame.structure)
    if frame is None and counts_rows(call):
        return
    words = call_words(call) if frame is None else f"{call_words(call)} OVER ({frame.text})"
    yield Fact("call", about, None, words)
    if aggregate.arguments:
        said = ", ".join(map(_named, aggregate.arguments))
        yield Fact("argument", about, said, f"the argument of {words}", said)
    if aggregate.definition is not None:
        yield Fact("definition", about, aggregate.definition, f"the definition of {words}")
    if not isinstance(aggregate, PromisedAggregate):  # nobody has looked at its class: it is not about to run
        yield _state(aggregate, about, words)


def call_words(call: AggregateCall) -> str:
    """A call as it was written."""
    return f"{call.text} FILTER ({words(call.condition)})" if call.condition else call.text


def counts_rows(call: AggregateCall) -> bool:
    """Whether it is a plain count of rows, which every window over groups keeps of its own accord."""
    return isinstance(call.aggregate, CountStar) and call.condition is None


def conditions(below: Lineage, predicate: Value | None) -> Iterator[Fact]:
    """The terms of a condition on the rows below."""
    for term in terms_of(predicate):
        yield Fact("condition", below.structure(term), None, f"the condition {words(term)}")


def columns(below: Lineage, names: Iterable[str]) -> Iterator[Fact]:
    """The columns that are kept of tuples."""
    for name in names:
        structure, kind = below.column(name)
        yield Fact("column", structure, kind, f"column {name}", kind)


def time(below: Lineage, name: str | None) -> Fact:
    """What a step moves along."""
    if name is None:
        return Fact("time", None, ARRIVAL, "the time stamp", ARRIVAL)
    structure, kind = below.column(name)
    return Fact("time", None, (structure, kind), "the time stamp", f"{name} {kind}")


def _state(aggregate: Aggregate, about: Structure, words: str) -> Fact:
    components = ", ".join(map(str, aggregate.components))
    version = "" if aggregate.format == 1 else f" (format {aggregate.format})"
    return Fact("state", about, (aggregate.format, components), f"the state of {words}", f"{components}{version}")


def _named(type_: pa.DataType) -> str:
    try:
        return type_name(to_sql(type_))
    except ValueError:
        return str(type_)
