"""Bound SELECTs to the algebra, clause by clause."""

from __future__ import annotations

from millstream.catalog.definitions import Query
from millstream.catalog.select import (
    HistorySpec,
    MatchSpec,
    Select,
    TableJoinSpec,
    UnionKind,
    UnionSpec,
    WindowJoinSpec,
)
from millstream.expressions.reading import all_of, columns_of, draws_lots, terms_of
from millstream.plan.algebra import AssignWindows, Filter, Node, OverAggregate, Project, Unnest, WindowAggregate
from millstream.plan.bounded import Distinct, Limit, Sort
from millstream.plan.joins_and_unions import MergeOrdered, TableJoin, Union, Unique, WindowJoin
from millstream.plan.match_registrations import MatchRegistrations
from millstream.plan.scans import History, OneRow, Reference
from millstream.plan.split import Split


def build(asked: Select | Query) -> Node:
    """The plan of a SELECT, or of a query that may split what it reads."""
    if isinstance(asked, Select):
        return _select(asked)
    return Split(_source(asked.select), asked.outputs) if asked.outputs else _select(asked.select)


def _select(select: Select) -> Node:
    """Clause by clause, in the order in which SQL reads them."""
    plan = _source(select)
    if select.window_assignment is not None:
        plan = AssignWindows(plan, select.window_assignment.window, select.window_assignment.time)
    if select.where is not None:
        plan = Filter(plan, select.where)
    if select.window_aggregate is not None:
        plan = WindowAggregate(plan, select.window_aggregate)
        plan = Unnest(plan, select.unnested_calls) if select.unnested_calls else plan
        plan = Filter(plan, select.window_aggregate.having) if select.window_aggregate.having is not None else plan
    for framed in select.over_aggregates:
        plan = OverAggregate(plan, framed)
    if select.over_aggregates and select.unnested_calls:
        plan = Unnest(plan, select.unnested_calls)
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
    match select.source:
        case None:
            return OneRow()
        case str():
            return Reference(select.source)
        case HistorySpec():
            return History(select.source)
        case Select():
            return build(select.source)
        case UnionSpec():
            return _build_union(select.source)
        case TableJoinSpec(left=left, right=right) as joined:
            return TableJoin(build(left), build(right), joined.kind, joined.condition, joined.equalities)
        case MatchSpec() as spec:
            return _build_match(spec)
        case WindowJoinSpec(left=left, right=right) as joined:
            columns = tuple(left.schema.names), tuple(right.schema.names)
            sides = build(left), build(right)
            return WindowJoin(
                *sides, joined.kind, joined.reach, joined.times, columns, joined.equalities, joined.residual
            )


def _build_match(spec: MatchSpec) -> Node:
    """Terms that only speak of tuples are for those below: they choose among tuples before these are matched."""
    theirs = {item.name for item in spec.columns}
    terms = terms_of(spec.condition)
    ours = [term for term in terms if columns_of(term) and not columns_of(term) & theirs and not draws_lots(term)]
    below, condition = build(spec.below), all_of(ours)
    below = below if condition is None else Filter(below, condition)
    rest = all_of(term for term in terms if term not in ours)
    return MatchRegistrations(below, spec.template, spec.registration, spec.columns, rest)


def _build_union(united: UnionSpec) -> Node:
    union = Union(tuple(build(part) for part in united.parts))
    if united.meeting is UnionKind.ALL or united.time is None:
        # Tables have no time stamps: they are read to their end.
        return Distinct(union) if united.meeting is UnionKind.UNIQUE else union
    if united.meeting is UnionKind.UNIQUE:
        return Unique(union, united.parts[0].schema.names, united.time)
    return MergeOrdered(union, united.parts[0].schema.names, united.time)
