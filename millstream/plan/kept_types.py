"""The types of all that enters the state of a plan's steps: a checkpoint is good for these alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from millstream.catalog.arrow import to_sql
from millstream.catalog.definitions import AggregateCall, Item
from millstream.catalog.schema import Column, type_name
from millstream.language.parse.written import written
from millstream.plan.algebra import LateScan, Node, OverAggregate, WindowAggregate
from millstream.plan.several import MergeOrdered, Unique, WindowJoin
from millstream.plan.trace import STAGES, steps

Types = Mapping[str, str]
"""What enters the state of a step, in words, and its type."""

ARGUMENT = "the argument of "
STATE = "the state of "


def kept_types(plan: Node) -> list[Types]:
    """For each step with state what enters it, the last step first."""
    return [dict(_entering(step)) for step in steps(plan) if isinstance(step, STAGES)]


def differences(before: Sequence[Types], now: Sequence[Types]) -> list[str]:
    """What has changed, in words.

    >>> differences([{"key k": "INT", "column a": "INT"}], [{"key k": "STRING", "column b": "INT"}])
    ['key k was INT and is now STRING', 'column a is gone', 'column b is new']
    """
    if len(before) != len(now):
        return [f"it had {len(before)} steps with state, and now it has {len(now)}"]
    found = []
    for old, new in zip(before, now, strict=True):
        changed = [what for what in old if new.get(what, old[what]) != old[what]]
        follows = {what.replace(ARGUMENT, STATE, 1) for what in changed if what.startswith(ARGUMENT)}
        found += [f"{what} was {old[what]} and is now {new[what]}" for what in changed if what not in follows]
        found += [f"{what} is gone" for what in old if what not in new]
        found += [f"{what} is new" for what in new if what not in old]
    return list(dict.fromkeys(found))


def _entering(step: Node) -> Iterator[tuple[str, str]]:
    match step:
        case WindowAggregate(windowed=work):
            yield from _keys(work.keys)
            yield from _calls(work.calls)
            yield from _time(step.below, work.time)
        case OverAggregate(framed=framed):
            yield from _keys(framed.keys)
            yield from _calls(each.call for each in framed.calls)
            yield from _columns(step.below.columns_of(framed.carried))
            yield from _time(step.below, framed.time)
        case WindowJoin():
            for equality in step.equalities:
                yield f"key {written(equality.left)} = {written(equality.right)}", type_name(equality.type)
            for below, names, time in zip(step.inputs, step.columns, step.times, strict=True):
                yield from _columns(below.columns_of(names))
                yield from _time(below, time)
        case Unique(names=names, time=time):
            yield from _columns(step.below.columns_of(names))
            yield from _time(step.below, time)
        case MergeOrdered(time=time):
            yield from _columns(step.below.schema)
            yield from _time(step.below, time)
        case LateScan(stream=stream):
            yield from _columns(stream.schema)
            yield from _time(step, stream.time)


def _keys(keys: Iterable[Item]) -> Iterator[tuple[str, str]]:
    for key in keys:
        yield f"key {written(key.expression)}", type_name(key.type)


def _calls(calls: Iterable[AggregateCall]) -> Iterator[tuple[str, str]]:
    """The types of arguments, and those of states: a user may change what his aggregate keeps."""
    for call in calls:
        arguments = [_named(type_) for type_ in call.aggregate.arguments]
        if arguments:
            yield f"{ARGUMENT}{call.text}", ", ".join(arguments)
        yield f"{STATE}{call.text}", ", ".join(map(str, call.aggregate.components))


def _columns(columns: Iterable[Column]) -> Iterator[tuple[str, str]]:
    for column in columns:
        yield f"column {column.name}", type_name(column.type)


def _time(below: Node, name: str | None) -> Iterator[tuple[str, str]]:
    for column in below.columns_of(() if name is None else (name,)):
        yield f"time {column.name}", type_name(column.type)


def _named(type_: pa.DataType) -> str:
    try:
        return type_name(to_sql(type_))
    except ValueError:
        return str(type_)
