"""Where a column of a plan comes from."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millstream.plan.algebra import AssignWindows, Derived, Distinct, Filter, Limit, Node, Project, Sort, Unnest


def trace(node: Node, column: str) -> tuple[Node, str] | None:
    """The step that makes the column, and its name there; None if it is computed on the way.

    Steps that only choose or rename are looked through.
    """
    match node:
        case Filter() | Derived() | Sort() | Distinct() | Limit() | AssignWindows() | Unnest():
            return trace(node.below, column)
        case Project():
            for item in node.items:
                if item.name.lower() == column.lower():
                    plain = isinstance(item.expression, exp.Column)
                    return trace(node.below, item.expression.name) if plain else None
            return None
    return node, column


def steps(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    below: object = node
    while isinstance(below, Node):
        yield below
        below = getattr(below, "below", None)
