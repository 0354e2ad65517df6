"""The number of buckets of a query."""

from __future__ import annotations

from millstream.plan.algebra import Node, OverAggregate, WindowAggregate
from millstream.plan.column_origins import STAGES, steps
from millstream.plan.joins_and_unions import MergeOrdered, WindowJoin


def bucket_count(plan: Node, cores: int, wanted: int | None = None) -> int:
    """One for each core, or as many as were asked for; one in all if no stage can tell its tuples apart by a key.

    All stages of a query have the same number, for Spark gives all of them the same number of tasks.
    """
    if wanted is not None:
        return wanted
    return cores if any(_has_keys(step) for step in steps(plan) if isinstance(step, STAGES)) else 1


def _has_keys(stage: Node) -> bool:
    match stage:
        case WindowAggregate(windowed=work):
            return bool(work.keys)
        case OverAggregate(framed=work):
            return bool(work.keys)
        case WindowJoin(equalities=equalities):
            return bool(equalities)
        case MergeOrdered():
            return False
    return True
