"""Window aggregates give only the columns that someone reads: each answer is a row that crosses to Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.plan.algebra import Filter, Node, Project, WindowAggregate, rewrite


def prune_answers(plan: Node, catalog: Catalog) -> Node:
    """`Project k over WindowAggregate` makes the aggregate give `k` alone."""

    def narrow(node: Node) -> Node:
        if not isinstance(node, Project):
            return node
        filters, below = [], node.below
        while isinstance(below, Filter):
            filters.append(below)
            below = below.below
        if not isinstance(below, WindowAggregate):
            return node
        read = _columns([*(i.expression for i in node.items), *(f.predicate for f in filters)])
        pruned: Node = replace(below, gives=read)
        for step in reversed(filters):
            pruned = replace(step, below=pruned)
        return replace(node, below=pruned)

    return rewrite(plan, narrow)


def _columns(expressions: Iterable[exp.Expression]) -> frozenset[str]:
    return frozenset(column.name for e in expressions for column in e.find_all(exp.Column))
