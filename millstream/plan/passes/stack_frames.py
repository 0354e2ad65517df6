"""A SELECT with OVER has one step for each partition, in one order, whichever of its columns was written first."""

from __future__ import annotations

from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.catalog.select import OverAggregateSpec
from millstream.expressions.reading import columns_of
from millstream.plan.algebra import Node, OverAggregate
from millstream.plan.column_origins import lineage_of
from millstream.plan.fingerprint.fact import in_order
from millstream.plan.fingerprint.facts import call_structure
from millstream.plan.fingerprint.lineage import Lineage
from millstream.structure import Structure
from millstream.udas.sql_aggregate import SqlAggregate


def stack_frames(plan: Node, catalog: Catalog) -> Node:
    """`OverAggregate per b over OverAggregate per a` and the other way round become the same."""
    if not isinstance(plan, OverAggregate):
        return plan.with_inputs([stack_frames(below, catalog) for below in plan.inputs])
    stack = [plan]
    while isinstance(stack[-1].below, OverAggregate):
        stack.append(stack[-1].below)
    node = stack_frames(stack[-1].below, catalog)
    below = lineage_of(node)
    works = sorted(_merge(below, [each.over_aggregate for each in stack[::-1]]), key=lambda work: _place(below, work))
    for work in _carry(works, plan.over_aggregate, below):
        node = OverAggregate(node, work)
    return node


def _merge(below: Lineage, works: list[OverAggregateSpec]) -> list[OverAggregateSpec]:
    """The steps, those with the same partition as one; aggregates in SQL go tuple by tuple, in steps of their own."""
    found: dict[object, OverAggregateSpec] = {}
    for work in works:
        in_sql = any(isinstance(each.call.aggregate, SqlAggregate) for each in work.calls)
        same = (in_sql, _waits(work), _keys(below, work))
        found[same] = replace(found[same], calls=(*found[same].calls, *work.calls)) if same in found else work
    return list(found.values())


def _keys(below: Lineage, work: OverAggregateSpec) -> Structure:
    """What the tuples are parted by, and what their frames move along."""
    keys = tuple(sorted((below.structure(key.expression) for key in work.keys), key=in_order))
    return keys, None if work.time is None else below.column(work.time).structure


def _waits(work: OverAggregateSpec) -> bool:
    """Whether tuples wait for time to settle their order; else they are counted as they come."""
    return any(each.window.ranked_by == "rank" for each in work.calls)


def _place(below: Lineage, work: OverAggregateSpec) -> tuple[bool, str]:
    """Where a step comes: what waits for time passes tuples on in another order, so arrivals are counted first."""
    calls = sorted((call_structure(below, each.call, each.window.structure) for each in work.calls), key=in_order)
    return _waits(work), in_order((_keys(below, work), tuple(calls)))


def _carry(works: list[OverAggregateSpec], top: OverAggregateSpec, below: Lineage) -> list[OverAggregateSpec]:
    """The steps, the first one first, each with the columns that those after it and the result read."""
    needed = {*top.carried, *(each.call.name for each in top.calls)}
    found = []
    for number, work in reversed(list(enumerate(works))):
        own = {each.call.name for each in work.calls}
        earlier = {each.call.name for before in works[:number] for each in before.calls}
        carried = tuple(name for name in needed - own if name.lower() in below.columns or name in earlier)
        found.append(replace(work, carried=tuple(sorted(carried))))
        calls = [each.call for each in work.calls]
        read = columns_of(*(k.expression for k in work.keys), *(a for c in calls for a in c.arguments))
        needed = (needed - own) | read | columns_of(*(call.condition for call in calls))
        needed |= {work.time} if work.time else set()
    return found[::-1]
