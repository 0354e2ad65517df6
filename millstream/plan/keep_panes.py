"""Windows read from the panes that a query has kept, when it was altered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millstream.operators.panes.finer_panes import FinerPanes
from millstream.plan.algebra import Node, WindowAggregate, rewrite
from millstream.plan.column_origins import fingerprints
from millstream.plan.fingerprint.fingerprint import Fingerprint
from millstream.plan.fingerprint.kept_panes import kept_pane


def keep_panes(plan: Node, before: Sequence[Fingerprint]) -> Node:
    """The plan with the panes that a query has had, if its new windows can be read from these; else as it is.

    `before` are the fingerprints of the steps with state that it had.
    """
    pane = kept_pane(before, fingerprints(plan))

    def refine(node: Node) -> Node:
        if not isinstance(node, WindowAggregate) or pane is None:
            return node
        window = node.window_aggregate.window.paned
        if window is None or window.pane == pane:
            return node
        return replace(node, window_aggregate=replace(node.window_aggregate, window=FinerPanes(window, pane)))

    return plan if pane is None else rewrite(plan, refine)
