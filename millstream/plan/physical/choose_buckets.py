"""How many buckets the tuples of a query are dealt to, and why.

All stages of a query have the same number, for Spark gives all of them the same number of tasks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from millstream.expressions.words import words
from millstream.plan.algebra import Node, OverAggregate, WindowAggregate, rewrite
from millstream.plan.column_origins import steps
from millstream.plan.joins_and_unions import Unique, WindowJoin
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import Buckets, Stage
from millstream.plan.scans import LateScan


def choose_buckets(plan: Node, facts: Facts) -> Node:
    """As many as its checkpoint has, or as are set; else one for each task of Spark, or one if no stage has keys."""
    chosen = _choose(plan, facts)

    def choose(node: Node) -> Node:
        if not isinstance(node, Stage):
            return node
        feeds = tuple(replace(feed, buckets=chosen) for feed in node.feeds)
        return replace(node, feeds=feeds, said=(*node.said, _words(node, chosen)))

    return rewrite(plan, choose)


def bucket_count(plan: Node) -> int | None:
    """The number of buckets of a physical plan; None if Spark says it, or there is no stage."""
    return next((step.buckets for step in steps(plan) if isinstance(step, Stage)), None)


def _choose(plan: Node, facts: Facts) -> Buckets:
    if facts.kept_buckets is not None:
        return Buckets(facts.kept_buckets, "as in its checkpoint")
    if facts.set_buckets is not None:
        return Buckets(facts.set_buckets, "as set")
    if any(_spreads(step) for step in steps(plan) if isinstance(step, Stage)):
        return Buckets(facts.tasks, "one for each task of Spark")
    return Buckets(1, "no keys")


def _spreads(stage: Stage) -> bool:
    """Whether its tuples go to more buckets than one."""
    return any(feed.keys is None or feed.keys for feed in stage.feeds)


def _words(stage: Stage, buckets: Buckets) -> str:
    count = buckets.count
    if not _spreads(stage):
        if count == 1:
            return "one bucket (no keys)"
        return f"one of {'the' if count is None else count} buckets (no keys), {buckets.why}"
    number = "buckets" if count is None else "one bucket" if count == 1 else f"{count} buckets"
    if isinstance(stage.step, LateScan):
        return f"tuples dealt out evenly to {number}, {buckets.why}"
    return f"{number} by {', '.join(_keys(stage.step))}, {buckets.why}"


def _keys(step: Node) -> Iterable[str]:
    """What says to which bucket a tuple goes, in words."""
    match step:
        case WindowAggregate(window_aggregate=work):
            keys = work.keys[: work.partition] if work.window.depends_on_data else work.keys
            return [words(key.expression) for key in keys]
        case OverAggregate(over_aggregate=framed):
            return [words(key.expression) for key in framed.keys]
        case WindowJoin(equalities=equalities):
            return [f"{words(each.left)} = {words(each.right)}" for each in equalities]
        case Unique():
            return ["all columns"]
    raise NotImplementedError(type(step).__name__)
