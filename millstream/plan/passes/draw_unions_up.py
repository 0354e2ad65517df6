"""Draws unions up to the next stage or sink: each input then has progress of its own."""

from __future__ import annotations

from millstream.catalog.catalog import Catalog
from millstream.plan.algebra import AssignWindows, Derived, Filter, Node, Project, rewrite
from millstream.plan.column_origins import parts
from millstream.plan.joins_and_unions import TableJoin, Union
from millstream.plan.match_registrations import MatchRegistrations


def draw_unions_up(plan: Node, catalog: Catalog) -> Node:
    """`Filter over Union` becomes `Union over Filters`; unions of unions become one."""

    def draw(node: Node) -> Node:
        match node:
            case Union():
                return Union(tuple(p for part in node.parts for p in parts(part)))
            case Filter() | Project() | Derived() | AssignWindows() | MatchRegistrations() if isinstance(
                node.below, Union
            ):
                return Union(tuple(node.with_inputs([part]) for part in node.below.parts))
            case TableJoin() if isinstance(node.left, Union):
                return Union(tuple(node.with_inputs([part, node.right]) for part in node.left.parts))
        return node

    return rewrite(plan, draw)
