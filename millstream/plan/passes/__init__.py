"""The rewrite passes, in the order they run: each takes a plan and gives a plan."""

from __future__ import annotations

from collections.abc import Callable

from millstream.catalog.catalog import Catalog
from millstream.plan.algebra import Node
from millstream.plan.passes.inline_relations import inline_relations
from millstream.plan.passes.prune_answers import prune_answers

PASSES: tuple[Callable[[Node, Catalog], Node], ...] = (inline_relations, prune_answers)


def apply_passes(plan: Node, catalog: Catalog) -> Node:
    """The plan as it will be lowered."""
    for step in PASSES:
        plan = step(plan, catalog)
    return plan
