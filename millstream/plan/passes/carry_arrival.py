"""Carries the order of arrival along to the stages that need it."""

from __future__ import annotations

from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.plan.algebra import (
    AssignWindows,
    Derived,
    Filter,
    Node,
    OverAggregate,
    Project,
    Unnest,
    WindowAggregate,
)
from millstream.plan.column_origins import feeder, parts
from millstream.plan.joins_and_unions import MergeOrdered, TableJoin, Union
from millstream.plan.match_registrations import MatchRegistrations
from millstream.plan.scans import Scan, TableScan
from millstream.windows.join_kind import JoinKind

_PAIRED = (JoinKind.INNER, JoinKind.LEFT)
_CHOOSING = (JoinKind.SEMI, JoinKind.ANTI)
"""The joins with tables that keep tuples as they are."""


def carry_arrival(plan: Node, catalog: Catalog) -> Node:
    """`OVER (ROWS ...)` over a scan makes it a scan that says in which order tuples arrive; sources are numbered."""
    number = -1

    def carry(node: Node, wanted: bool) -> Node:
        nonlocal number
        below = wanted
        match node:
            case Scan() | TableScan():
                number += 1
                return replace(node, ordered=wanted, place=number)
            case OverAggregate():
                below = wanted or needs_arrival(node)
                node = replace(node, ordered=wanted)
            case TableJoin():
                keeps = wanted and (node.kind in _PAIRED or (node.kind in _CHOOSING and _streams(node.left)))
                node = replace(node, ordered=keeps)
                return node.with_inputs([carry(node.left, keeps), carry(node.right, False)])
            case Filter() | Project() | Derived() | AssignWindows() | Unnest() | Union() | MatchRegistrations():
                pass
            case _:
                below = needs_arrival(node)
        return node.with_inputs([carry(part, below) for part in node.inputs])

    return carry(plan, False)


def needs_arrival(stage: Node) -> bool:
    """Whether the answers of a stage depend on the order of tuples of one time stamp."""
    match stage:
        case WindowAggregate(window_aggregate=work):
            return work.window.depends_on_arrival or any(c.aggregate.by_order for c in work.calls)
        case OverAggregate(over_aggregate=work):
            by_frame = any(f.window.depends_on_arrival for f in work.calls)
            return by_frame or any(f.call.aggregate.by_order or f.call.rows is not None for f in work.calls)
    return isinstance(stage, MergeOrdered)


def tells_arrival(part: Node) -> bool:
    """Whether the order in which the tuples of an input have arrived is known: they come from a source, or keep it."""
    match part:
        case Scan() | TableScan():
            return part.ordered
        case OverAggregate():
            return part.ordered and all(tells_arrival(p) for p in parts(part.below))
        case Filter() | Project() | Derived() | AssignWindows() | Unnest() | MatchRegistrations():
            return tells_arrival(part.below)
        case TableJoin():
            return part.ordered and tells_arrival(part.left)
    return False


def _streams(node: Node) -> bool:
    return isinstance(feeder(node), Scan)
