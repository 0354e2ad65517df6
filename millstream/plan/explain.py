"""EXPLAIN: a plan as an indented tree."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.algebra import Node


def explain(plan: Node) -> str:
    """The plan, one node a line, inputs below what reads them.

    >>> from millstream.plan.algebra import OneRow, Limit
    >>> print(explain(Limit(OneRow(), 1, None)))
    Limit 1
    └─ OneRow
    """
    return "\n".join(_lines(plan, ""))


def _lines(node: Node, indent: str) -> Iterator[str]:
    yield f"{indent}{node.label()}"
    below = getattr(node, "below", None)
    if isinstance(below, Node):
        deeper = " " * len(indent.replace("└─ ", "   ")) + "└─ "
        yield from _lines(below, deeper)
