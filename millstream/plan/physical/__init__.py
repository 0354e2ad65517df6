"""The physical plan: passes in the order in which they run, each a function from plan to plan in a file of its own."""

from __future__ import annotations

from collections.abc import Callable

from millstream.plan.algebra import Node
from millstream.plan.physical.answer_here import answer_here
from millstream.plan.physical.choose_buckets import choose_buckets
from millstream.plan.physical.choose_reader import choose_reader
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.form_stages import form_stages
from millstream.plan.physical.index_registrations import index_registrations
from millstream.plan.physical.place_conditions import place_conditions
from millstream.plan.physical.place_partials import place_partials

PASSES: tuple[Callable[[Node, Facts], Node], ...] = (
    answer_here,
    form_stages,
    choose_buckets,
    place_conditions,
    place_partials,
    choose_reader,
    index_registrations,
)


def physical(plan: Node, facts: Facts) -> Node:
    """A logical plan as it will be lowered."""
    for step in PASSES:
        plan = step(plan, facts)
    return plan
