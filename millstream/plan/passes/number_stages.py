"""Numbers stages, and scans of a stream that is read more than once."""

from __future__ import annotations

from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.plan.algebra import Node, rewrite
from millstream.plan.column_origins import STAGES
from millstream.plan.scans import Scan


def number_stages(plan: Node, catalog: Catalog) -> Node:
    """Stages are numbered from one, inputs first; scans of a stream from zero."""
    seen: dict[str, int] = {}
    number = 0

    def mark(node: Node) -> Node:
        nonlocal number
        if isinstance(node, STAGES):
            number += 1
            return replace(node, number=number)
        if isinstance(node, Scan):
            name = node.stream.name.lower()
            seen[name] = seen.get(name, -1) + 1
            return replace(node, again=seen[name])
        return node

    return rewrite(plan, mark)
