"""Merges a projection with one below it that only selects and renames columns."""

from __future__ import annotations

from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.expressions.reading import over_columns
from millstream.expressions.tree import Column
from millstream.plan.algebra import Node, Project, rewrite


def merge_projects(plan: Node, catalog: Catalog) -> Node:
    """`Project b over Project a AS b` becomes `Project a AS b`."""

    def merge(node: Node) -> Node:
        if not isinstance(node, Project) or not isinstance(node.below, Project):
            return node
        below = node.below
        if not all(isinstance(i.expression, Column) for i in below.items):
            return node
        meanings = {i.name.lower(): i.expression for i in below.items}
        items = (replace(item, expression=over_columns(item.expression, meanings)) for item in node.items)
        return Project(below.below, tuple(items))

    return rewrite(plan, merge)
