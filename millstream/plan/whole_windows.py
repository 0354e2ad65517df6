"""Leaves out the answers of windows that began before a query did: they would lack tuples, and look like the others."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.expressions.tree import BOOL, TIMESTAMP, Call, Column, Literal
from millstream.plan.algebra import BOUNDS, Filter, Node, WindowAggregate, rewrite
from millstream.plan.column_origins import trace
from millstream.plan.scans import Scan


def answer_whole_windows(plan: Node, begins: Mapping[str, int]) -> Node:
    """`WindowAggregate` becomes `Filter window_start >= t` over it, where it reads a stream that begins at t.

    `begins` has the streams by their names in small letters, and times in microseconds. That is for windows that begin
    and end at certain times. Landmark windows, sessions, rows and OVER have no such beginning: they count from t on.
    """

    def leave_out(node: Node) -> Node:
        if not isinstance(node, WindowAggregate) or (time := _begin(node, begins)) is None:
            return node
        return Filter(node, Call("ge", (Column(BOUNDS[0].name, TIMESTAMP), Literal(time, TIMESTAMP)), BOOL))

    return rewrite(plan, leave_out) if begins else plan


def _begin(node: WindowAggregate, begins: Mapping[str, int]) -> int | None:
    """The time at which the stream begins along which windows of a certain length move."""
    window, time = node.window_aggregate.window.paned, node.window_aggregate.time
    if window is None or window.endless or window.whole or time is None:
        return None
    found = trace(node.below, time)
    if found is None or not isinstance(found[0], Scan):
        return None
    return begins.get(found[0].stream.name.lower())
