"""EXPLAIN: a plan as an indented tree, with what was chosen below each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millstream.plan.algebra import Node
from millstream.plan.physical.nodes import explain_step

Words = Callable[[Node], tuple[str, ...]]
"""More lines about the step that a node is for."""


def explain(plan: Node, words: Words = lambda node: ()) -> str:
    """The plan, one step a line, and below that what was chosen; inputs are below what reads them.

    >>> from millstream.plan.scans import OneRow
    >>> from millstream.plan.bounded import Limit
    >>> from millstream.plan.physical.nodes import Noted
    >>> print(explain(Limit(Noted(OneRow(), "Spark makes it"), 1, None)))
    Limit 1
    └─ OneRow
            Spark makes it
    """
    return "\n".join(_lines(plan, words, "", ""))


def walk_steps(plan: Node, depth: int = 0) -> Iterator[tuple[int, Node, Node, tuple[str, ...]]]:
    """The steps from the last to the first: the depth, the node, the logical step that it is for, what was chosen."""
    step, notes, beneath = explain_step(plan)
    yield depth, plan, step, notes
    for below in beneath:
        yield from walk_steps(below, depth + 1)


def _lines(node: Node, words: Words, first: str, others: str) -> Iterator[str]:
    """The lines of a step and of what it reads: the first begins with one margin, the others with another."""
    step, notes, beneath = explain_step(node)
    yield f"{first}{step.label()}"
    margin = f"{others}│    " if beneath else f"{others}     "
    yield from (f"{margin}{line}" for line in ("; ".join(notes), *words(node)) if line)
    for number, below in enumerate(beneath, 1):
        if number == len(beneath):
            yield from _lines(below, words, f"{others}└─ ", f"{others}   ")
        else:
            yield from _lines(below, words, f"{others}├─ ", f"{others}│  ")
