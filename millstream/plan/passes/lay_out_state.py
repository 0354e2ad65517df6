"""One layout for the state of a step, however its query is written: an edit that changes no state finds the old one.

Calls that compute the same become one. Keys, calls and columns come in an order that follows from what they are, and
keys are named by their places. Then the state of two steps with the same fingerprint is the same, blob by blob.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from millstream.catalog.catalog import Catalog
from millstream.catalog.select import AggregateCall, Item, OverAggregateSpec, OverCallSpec, WindowAggregateSpec
from millstream.expressions.reading import renamed
from millstream.expressions.tree import Value
from millstream.plan.algebra import Derived, Filter, Node, OverAggregate, Project, Unnest, WindowAggregate
from millstream.plan.bounded import Distinct, Limit, Sort
from millstream.plan.fingerprint.fact import in_order
from millstream.plan.fingerprint.facts import call_structure
from millstream.plan.fingerprint.lineage import Lineage
from millstream.plan.joins_and_unions import MergeOrdered, Unique, WindowJoin
from millstream.structure import Structure

T = TypeVar("T")


@dataclass(frozen=True)
class _NewNames:
    """What has other names than those who read it know, by the names in small letters."""

    columns: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, AggregateCall] = field(default_factory=dict)

    def name(self, name: str) -> str:
        return self.columns.get(name.lower(), name)

    def expression(self, expression: Value) -> Value:
        return renamed(expression, self.columns)

    def call(self, call: AggregateCall) -> AggregateCall:
        condition = None if call.condition is None else self.expression(call.condition)
        return replace(call, arguments=tuple(map(self.expression, call.arguments)), condition=condition)

    def items(self, items: Iterable[Item]) -> tuple[Item, ...]:
        return tuple(replace(item, expression=self.expression(item.expression)) for item in items)

    def and_then(self, further: _NewNames) -> _NewNames:
        return _NewNames({**self.columns, **further.columns}, {**self.calls, **further.calls})


_NO_NEW_NAMES = _NewNames()


def lay_out_state(plan: Node, catalog: Catalog) -> Node:
    """`WindowAggregate SUM(v), SUM(V) by b, a` becomes `WindowAggregate SUM(v) by a, b`."""
    return _lay_out(plan)[0]


def _lay_out(node: Node) -> tuple[Node, Lineage, _NewNames]:
    """A step whose inputs and itself are laid out, where its rows come from, and what has another name now."""
    found = [_lay_out(below) for below in node.inputs]
    below = [lineage for _, lineage, _ in found]
    new = found[0][2] if found else _NO_NEW_NAMES
    node, new = _arrange(node.with_inputs([each for each, _, _ in found]), below, new)
    return node, node.lineage(below), new


def _arrange(node: Node, below: Sequence[Lineage], new: _NewNames) -> tuple[Node, _NewNames]:
    """A step over inputs that have new names, and what has a new name above it."""
    match node:
        case Project(items=items):
            return replace(node, items=new.items(items)), _NO_NEW_NAMES
        case Filter(predicate=predicate):
            return replace(node, predicate=new.expression(predicate)), new
        case Sort(terms=terms):
            return replace(node, terms=tuple(replace(t, value=new.expression(t.value)) for t in terms)), new
        case Unnest(calls=calls):
            known = (new.calls.get(call.name.lower(), call) for call in calls)
            return replace(node, calls=_merge(known, lambda call: call.name)), new
        case OverAggregate():
            return _arrange_frames(node, node.over_aggregate, below[0], new)
        case Derived() | Distinct() | Limit():
            return node, new
    assert not new.columns, node  # noqa: S101  (a SELECT ends with a projection)
    match node:
        case WindowAggregate():
            return _arrange_groups(node, node.window_aggregate, below[0])
        case WindowJoin(columns=columns, equalities=equalities):
            left, right = (tuple(_sort(c, _column_of(side))) for c, side in zip(columns, below, strict=True))
            equal = _merge(equalities, lambda e: (below[0].structure(e.left), below[1].structure(e.right)))
            return replace(node, columns=(left, right), equalities=equal), _NO_NEW_NAMES
        case Unique(names=names) | MergeOrdered(names=names):
            return replace(node, names=tuple(_sort(names, _column_of(below[0])))), _NO_NEW_NAMES
    return node, _NO_NEW_NAMES


def _arrange_groups(node: WindowAggregate, work: WindowAggregateSpec, below: Lineage) -> tuple[Node, _NewNames]:
    def structure(key: Item) -> Structure:
        return below.structure(key.expression)

    partition = _merge(work.keys[: work.partition], structure)
    parted = set(map(structure, partition))
    others = _merge((key for key in work.keys[work.partition :] if structure(key) not in parted), structure)
    keys = _number([*partition, *others], "__k")
    by_structure = {structure(key): key.name for key in keys}
    calls, new = _merge_calls(work.calls, lambda call: call_structure(below, call), below)
    new = _NewNames({key.name.lower(): by_structure[structure(key)] for key in work.keys}).and_then(new)
    gives = None if node.gives is None else frozenset(map(new.name, node.gives))
    work = replace(work, keys=keys, calls=calls, partition=len(partition))
    return replace(node, window_aggregate=work, gives=gives), new


def _arrange_frames(
    node: OverAggregate, work: OverAggregateSpec, below: Lineage, new: _NewNames
) -> tuple[Node, _NewNames]:
    frames = [replace(each, call=new.call(each.call)) for each in work.calls]
    windows = {each.call.name: each.window for each in frames}
    calls, merged = _merge_calls(
        [each.call for each in frames], lambda call: call_structure(below, call, windows[call.name].structure), below
    )
    keys = _number(_merge(new.items(work.keys), lambda key: below.structure(key.expression)), "__p")
    carried = tuple(_sort(dict.fromkeys(map(new.name, work.carried)), _column_of(below)))
    time = None if work.time is None else new.name(work.time)
    pairs = tuple(OverCallSpec(call, windows[call.name]) for call in calls)
    work = replace(work, keys=keys, calls=pairs, time=time, carried=carried)
    return replace(node, over_aggregate=work), new.and_then(merged)


def _merge_calls(
    calls: Sequence[AggregateCall], structure: Callable[[AggregateCall], Structure], below: Lineage
) -> tuple[tuple[AggregateCall, ...], _NewNames]:
    """The calls, those that compute the same once, and what is read twice said in the same words each time."""
    said: dict[Structure, Value] = {}

    def same(expression: Value) -> Value:
        return said.setdefault(below.structure(expression), expression)

    kept = []
    for call in _merge(calls, structure):
        condition = None if call.condition is None else same(call.condition)
        kept.append(replace(call, arguments=tuple(map(same, call.arguments)), condition=condition))
    by_structure = {structure(call): call for call in kept}
    stands = {call.name.lower(): by_structure[structure(call)] for call in calls}
    columns = {
        old.name.lower(): new.name
        for call in calls
        for old, new in zip(call.columns, stands[call.name.lower()].columns, strict=True)
        if old.name != new.name
    }
    return tuple(kept), _NewNames(columns, stands)


def _merge(things: Iterable[T], structure: Callable[[T], Structure]) -> tuple[T, ...]:
    """Of things with the same structure the first, in the order of their structures."""
    found: dict[Structure, T] = {}
    for thing in things:
        found.setdefault(structure(thing), thing)
    return tuple(_sort(found.values(), structure))


def _sort(things: Iterable[T], structure: Callable[[T], Structure]) -> list[T]:
    return sorted(things, key=lambda thing: in_order(structure(thing)))


def _column_of(below: Lineage) -> Callable[[str], Structure]:
    return lambda name: below.column(name).structure


def _number(keys: Iterable[Item], prefix: str) -> tuple[Item, ...]:
    return tuple(replace(key, name=f"{prefix}{place}") for place, key in enumerate(keys))
