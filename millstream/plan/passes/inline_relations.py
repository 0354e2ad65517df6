"""Replaces references by scans of sources and by the plans of derived streams."""

from __future__ import annotations

from collections.abc import Callable

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import DerivedStream, Stream, Table, side_output
from millstream.errors import MillstreamError
from millstream.plan.algebra import Derived, LateScan, Node, Reference, RejectedScan, Scan, TableScan, rewrite
from millstream.plan.build import build


def inline_relations(plan: Node, catalog: Catalog) -> Node:
    """`Reference dear` becomes `Stream dear` over the plan of its SELECT, down to the sources."""

    def resolve(node: Node) -> Node:
        if not isinstance(node, Reference):
            return node
        name, side = side_output(node.name)
        match catalog.relation(name):
            case Stream() as stream:
                scans: dict[str, Callable[[Stream], Node]] = {"": Scan, "REJECTED": RejectedScan, "LATE": LateScan}
                return scans[side](stream)
            case DerivedStream() as derived:
                return Derived(inline_relations(build(derived.select), catalog), derived.name)
            case Table() as table:
                return TableScan(table)
        raise MillstreamError(f"{node.name} was dropped after the query was bound")

    return rewrite(plan, resolve)
