"""What a plan remembers from one batch to the next, in words."""

from __future__ import annotations

from millstream.plan.algebra import Node
from millstream.plan.trace import steps


def shape_of(plan: Node) -> str:
    """What the steps of a plan remember; nothing if it has no state."""
    return "; ".join(step.remembers for step in steps(plan) if step.remembers)
