"""For EXPLAIN ANALYZE: each step that Spark carries out counts its rows. Stages count theirs in any case."""

from __future__ import annotations

from itertools import count

from millstream.plan.algebra import Node
from millstream.plan.physical.nodes import ArrowRead, Noted, Observed, Physical, SparkRead
from millstream.plan.scans import OneRow


def observe_steps(plan: Node) -> Node:
    """`Filter over SparkRead` becomes `Observed over Filter over Observed over SparkRead`."""
    numbers = count(1)

    def observe(node: Node) -> Node:
        match node:
            case ArrowRead():
                return node
            case Noted(below=below):
                return Observed(
                    Noted(below.with_inputs([observe(each) for each in below.inputs]), node.note), next(numbers)
                )
            case SparkRead():
                return Observed(node, next(numbers))
        over = node.with_inputs([observe(below) for below in node.inputs])
        return over if isinstance(node, Physical | OneRow) else Observed(over, next(numbers))

    return observe(plan)
