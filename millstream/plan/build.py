"""Bound SELECTs to the algebra, clause by clause."""

from __future__ import annotations

from millstream.catalog.definitions import Select
from millstream.plan.algebra import (
    AssignWindows,
    Distinct,
    Filter,
    Limit,
    Node,
    OneRow,
    OverAggregate,
    Project,
    Reference,
    Sort,
    Unnest,
    WindowAggregate,
)


def build(select: Select) -> Node:
    """The plan that a SELECT asks for, in the order in which SQL reads its clauses."""
    plan = _source(select)
    if select.assigned is not None:
        plan = AssignWindows(plan, select.assigned.window, select.assigned.time)
    if select.where is not None:
        plan = Filter(plan, select.where)
    if select.windowed is not None:
        plan = WindowAggregate(plan, select.windowed)
        plan = Unnest(plan, select.unnested) if select.unnested else plan
        plan = Filter(plan, select.windowed.having) if select.windowed.having is not None else plan
    for framed in select.framed:
        plan = OverAggregate(plan, framed)
    if select.framed and select.unnested:
        plan = Unnest(plan, select.unnested)
    if select.distinct:
        plan = Distinct(Project(plan, select.items))
        plan = Sort(plan, select.order) if select.order else plan
    else:
        # Sorted before the projection, so that a term may use columns that the result leaves out.
        plan = Sort(plan, select.order) if select.order else plan
        plan = Project(plan, select.items)
    if select.limit is not None or select.offset is not None:
        plan = Limit(plan, select.limit, select.offset)
    return plan


def _source(select: Select) -> Node:
    if select.source is None:
        return OneRow()
    if isinstance(select.source, Select):
        return build(select.source)
    return Reference(select.source)
