"""A projection over one that only chooses and renames columns becomes one projection."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Item
from millstream.plan.algebra import Node, Project, rewrite


def merge_projects(plan: Node, catalog: Catalog) -> Node:
    """`Project b over Project a AS b` becomes `Project a AS b`."""

    def merge(node: Node) -> Node:
        if not isinstance(node, Project) or not isinstance(node.below, Project):
            return node
        below = node.below
        if not all(isinstance(i.expression, exp.Column) for i in below.items):
            return node
        meanings = {i.name.lower(): i.expression for i in below.items}
        return Project(below.below, tuple(_read(item, meanings) for item in node.items))

    return rewrite(plan, merge)


def _read(item: Item, meanings: dict[str, exp.Expression]) -> Item:
    def resolve(part: exp.Expression) -> exp.Expression:
        return meanings[part.name.lower()].copy() if isinstance(part, exp.Column) else part

    return replace(item, expression=item.expression.copy().transform(resolve, copy=False))
