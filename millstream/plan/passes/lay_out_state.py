"""What steps keep is laid out in one way, however a query is written: an edit that changes no state finds the old one.

Calls that compute the same become one. Keys, calls and columns come in an order that follows from what they are, and
keys are named by their places. Then the state of two steps with the same fingerprint is the same, blob by blob.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import AggregateCall, Framed, FramedCall, Item, Windowed
from millstream.expressions.build.reading import over_columns
from millstream.plan.algebra import (
    Derived,
    Filter,
    Node,
    OverAggregate,
    Project,
    Unnest,
    WindowAggregate,
)
from millstream.plan.bounded import Distinct, Limit, Sort
from millstream.plan.fingerprint.fact import in_order
from millstream.plan.fingerprint.facts import call_structure
from millstream.plan.fingerprint.lineage import Lineage
from millstream.plan.several import MergeOrdered, Unique, WindowJoin
from millstream.structure import Structure

T = TypeVar("T")


@dataclass(frozen=True)
class _Renamed:
    """What has other names than those who read it know, by the names in small letters."""

    columns: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, AggregateCall] = field(default_factory=dict)

    def name(self, name: str) -> str:
        return self.columns.get(name.lower(), name)

    def expression(self, expression: exp.Expression) -> exp.Expression:
        if not self.columns:
            return expression
        read = {column.name.lower(): column for column in expression.find_all(exp.Column)}
        meanings = {low: _column(self.columns[low]) if low in self.columns else c for low, c in read.items()}
        return over_columns(expression, meanings)

    def call(self, call: AggregateCall) -> AggregateCall:
        condition = None if call.condition is None else self.expression(call.condition)
        return replace(call, arguments=tuple(map(self.expression, call.arguments)), condition=condition)

    def items(self, items: Iterable[Item]) -> tuple[Item, ...]:
        return tuple(replace(item, expression=self.expression(item.expression)) for item in items)

    def and_then(self, further: _Renamed) -> _Renamed:
        return _Renamed({**self.columns, **further.columns}, {**self.calls, **further.calls})


_AS_IT_WAS = _Renamed()


def lay_out_state(plan: Node, catalog: Catalog) -> Node:
    """`WindowAggregate SUM(v), SUM(V) by b, a` becomes `WindowAggregate SUM(v) by a, b`."""
    return _laid_out(plan)[0]


def _laid_out(node: Node) -> tuple[Node, Lineage, _Renamed]:
    """A step whose inputs and itself are laid out, where its rows come from, and what has another name now."""
    found = [_laid_out(below) for below in node.inputs]
    below = [lineage for _, lineage, _ in found]
    renamed = found[0][2] if found else _AS_IT_WAS
    node, renamed = _ordered(node.over([each for each, _, _ in found]), below, renamed)
    return node, node.lineage(below), renamed


def _ordered(node: Node, below: Sequence[Lineage], renamed: _Renamed) -> tuple[Node, _Renamed]:
    match node:
        case Project(items=items):
            return replace(node, items=renamed.items(items)), _AS_IT_WAS
        case Filter(predicate=predicate):
            return replace(node, predicate=renamed.expression(predicate)), renamed
        case Sort(terms=terms):
            return replace(node, terms=tuple(map(renamed.expression, terms))), renamed
        case Unnest(calls=calls):
            known = (renamed.calls.get(call.name.lower(), call) for call in calls)
            return replace(node, calls=_once(known, lambda call: call.name)), renamed
        case OverAggregate():
            return _framed(node, node.framed, below[0], renamed)
        case Derived() | Distinct() | Limit():
            return node, renamed
    assert not renamed.columns, node  # noqa: S101  (a SELECT ends with a projection)
    match node:
        case WindowAggregate():
            return _grouped(node, node.windowed, below[0])
        case WindowJoin(columns=columns, equalities=equalities):
            left, right = (tuple(_sorted(c, _column_of(side))) for c, side in zip(columns, below, strict=True))
            equal = _once(equalities, lambda e: (below[0].structure(e.left), below[1].structure(e.right)))
            return replace(node, columns=(left, right), equalities=equal), _AS_IT_WAS
        case Unique(names=names) | MergeOrdered(names=names):
            return replace(node, names=tuple(_sorted(names, _column_of(below[0])))), _AS_IT_WAS
    return node, _AS_IT_WAS


def _grouped(node: WindowAggregate, work: Windowed, below: Lineage) -> tuple[Node, _Renamed]:
    def key(item: Item) -> Structure:
        return below.structure(item.expression)

    partition = _once(work.keys[: work.partition], key)
    others = [item for item in work.keys[work.partition :] if key(item) not in map(key, partition)]
    keys = _named([*partition, *_once(others, key)], "__k")
    names = {item.name.lower(): next(k.name for k in keys if key(k) == key(item)) for item in work.keys}
    calls, others_renamed = _calls(work.calls, lambda call: call_structure(below, call), below)
    renamed = _Renamed(names).and_then(others_renamed)
    gives = None if node.gives is None else frozenset(map(renamed.name, node.gives))
    laid = replace(work, keys=keys, calls=calls, partition=len(partition))
    return replace(node, windowed=laid, gives=gives), renamed


def _framed(node: OverAggregate, work: Framed, below: Lineage, renamed: _Renamed) -> tuple[Node, _Renamed]:
    frames = [replace(each, call=renamed.call(each.call)) for each in work.calls]
    windows = {each.call.name: each.window for each in frames}
    calls, made = _calls(
        [each.call for each in frames], lambda call: call_structure(below, call, windows[call.name].structure), below
    )
    keys = _named(_once(renamed.items(work.keys), lambda item: below.structure(item.expression)), "__p")
    carried = _sorted(dict.fromkeys(map(renamed.name, work.carried)), _column_of(below))
    time = None if work.time is None else renamed.name(work.time)
    pairs = tuple(FramedCall(call, windows[call.name]) for call in calls)
    laid = replace(work, keys=keys, calls=pairs, time=time, carried=tuple(carried))
    return replace(node, framed=laid), renamed.and_then(made)


def _calls(
    calls: Sequence[AggregateCall], structure: Callable[[AggregateCall], Structure], below: Lineage
) -> tuple[tuple[AggregateCall, ...], _Renamed]:
    """The calls, those that compute the same once, and what is read twice said in the same words each time."""
    said: dict[Structure, exp.Expression] = {}

    def same(expression: exp.Expression) -> exp.Expression:
        return said.setdefault(below.structure(expression), expression)

    kept = []
    for call in _once(calls, structure):
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
    return tuple(kept), _Renamed(columns, stands)


def _once(things: Iterable[T], structure: Callable[[T], Structure]) -> tuple[T, ...]:
    """Of things with the same structure the first, in the order of their structures."""
    found: dict[Structure, T] = {}
    for thing in things:
        found.setdefault(structure(thing), thing)
    return tuple(_sorted(found.values(), structure))


def _sorted(things: Iterable[T], structure: Callable[[T], Structure]) -> list[T]:
    return sorted(things, key=lambda thing: in_order(structure(thing)))


def _column_of(below: Lineage) -> Callable[[str], Structure]:
    return lambda name: below.column(name).structure


def _named(keys: Iterable[Item], prefix: str) -> tuple[Item, ...]:
    return tuple(replace(key, name=f"{prefix}{place}") for place, key in enumerate(keys))


def _column(name: str) -> exp.Expression:
    return exp.column(exp.to_identifier(name, quoted=True))
