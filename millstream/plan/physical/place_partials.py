"""Partial aggregation before the exchange: states of panes, where windows are made of panes."""

from __future__ import annotations

from dataclasses import replace

from millstream.operators.registry import runner
from millstream.plan.algebra import Node, WindowAggregate, rewrite
from millstream.plan.column_origins import STAGES, feeder, steps
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import Stage


def place_partials(plan: Node, facts: Facts) -> Node:
    """A stage of a windowed aggregate gets a state for each key and pane of a task, in place of all its tuples."""

    def place(node: Node) -> Node:
        if not isinstance(node, Stage) or not isinstance(node.step, WindowAggregate):
            return node
        work = node.step.window_aggregate
        if work.from_first:
            return _add_note(node, "tuples are exchanged: where panes begin, only the first of them will tell")
        if runner(work.window).partial is None:
            return _add_note(node, f"tuples are exchanged: {work.window.noun} has no panes")
        feeds = tuple(replace(feed, partial=True) for feed in node.feeds)
        return _add_note(replace(node, feeds=feeds), "partial states of panes are exchanged")

    return rewrite(plan, place)


def reduces(plan: Node) -> bool:
    """Whether each stage that reads a source takes partial states in place of tuples."""
    feeds = (feed for step in steps(plan) if isinstance(step, Stage) for feed in step.feeds)
    return all(feed.partial for feed in feeds if not isinstance(feeder(feed.part), STAGES))


def _add_note(stage: Stage, note: str) -> Stage:
    return replace(stage, said=(*stage.said, note))
