"""EXPLAIN: a plan as an indented tree, with what was chosen below each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millstream.plan.algebra import Node
from millstream.plan.physical.nodes import shown

Figures = Callable[[Node], tuple[str, ...]]
"""More that is said of a step."""


def explain(plan: Node, figures: Figures = lambda node: ()) -> str:
    """The plan, one step a line, and below that what was chosen; inputs are below what reads them.

    >>> from millstream.plan.algebra import OneRow
    >>> from millstream.plan.bounded import Limit
    >>> from millstream.plan.physical.nodes import Noted
    >>> print(explain(Limit(Noted(OneRow(), "Spark makes it"), 1, None)))
    Limit 1
    └─ OneRow
         Spark makes it
    """
    return "\n".join(_lines(plan, figures, "", ""))


def _lines(node: Node, figures: Figures, first: str, others: str) -> Iterator[str]:
    """The lines of a step and of what it reads: the first begins with one margin, the others with another."""
    step, notes, beneath = shown(node)
    yield f"{first}{step.label()}"
    margin = f"{others}│    " if beneath else f"{others}     "
    yield from (f"{margin}{note}" for note in ("; ".join(notes), *figures(node)) if note)
    for number, below in enumerate(beneath, 1):
        if number == len(beneath):
            yield from _lines(below, figures, f"{others}└─ ", f"{others}   ")
        else:
            yield from _lines(below, figures, f"{others}├─ ", f"{others}│  ")
