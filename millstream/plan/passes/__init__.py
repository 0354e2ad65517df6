"""The rewrite passes, in the order they run: each takes a plan and gives a plan."""

from __future__ import annotations

from collections.abc import Callable

from millstream.catalog.catalog import Catalog
from millstream.plan.algebra import Node
from millstream.plan.passes.carry_arrival import carry_arrival
from millstream.plan.passes.draw_unions_up import draw_unions_up
from millstream.plan.passes.inline_relations import inline_relations
from millstream.plan.passes.lay_out_state import lay_out_state
from millstream.plan.passes.merge_projects import merge_projects
from millstream.plan.passes.number_stages import number_stages
from millstream.plan.passes.prune_columns import prune_columns
from millstream.plan.passes.push_filters_down import push_filters_down
from millstream.plan.passes.stack_frames import stack_frames

PASSES: tuple[Callable[[Node, Catalog], Node], ...] = (
    inline_relations,
    draw_unions_up,
    push_filters_down,
    prune_columns,
    merge_projects,
    stack_frames,
    lay_out_state,
    carry_arrival,
    number_stages,
)


def apply_passes(plan: Node, catalog: Catalog) -> Node:
    """The plan as it will be lowered."""
    for step in PASSES:
        plan = step(plan, catalog)
    return plan
