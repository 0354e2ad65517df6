"""EXPLAIN: a plan as an indented tree."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.algebra import Node


def explain(plan: Node) -> str:
    """The plan, one node a line, inputs below what reads them.

    >>> from millstream.plan.algebra import OneRow
    >>> from millstream.plan.bounded import Limit
    >>> print(explain(Limit(OneRow(), 1, None)))
    Limit 1
    └─ OneRow
    """
    return "\n".join(_lines(plan, ""))


def _lines(node: Node, first: str, others: str = "") -> Iterator[str]:
    """The lines of a node and of what it reads: the first begins with one margin, the others with another."""
    yield f"{first}{node.label()}"
    for number, below in enumerate(node.inputs, 1):
        if number == len(node.inputs):
            yield from _lines(below, f"{others}└─ ", f"{others}   ")
        else:
            yield from _lines(below, f"{others}├─ ", f"{others}│  ")
