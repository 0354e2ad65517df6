"""Replaces references by scans of sources and by the plans of derived streams."""

from __future__ import annotations

from collections.abc import Callable

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import DerivedStream, HistoryTable, Stream, Table
from millstream.catalog.select import HistorySpec, side_output
from millstream.errors import MillstreamError
from millstream.plan.algebra import Derived, Node, rewrite
from millstream.plan.build import build
from millstream.plan.scans import History, LateScan, Reference, RejectedScan, Scan, TableScan

FED = Address("fed", "")
"""Where the rows of a stream without a source are from: its history is all that is read of it."""


def inline_relations(plan: Node, catalog: Catalog) -> Node:
    """`Reference dear` becomes `Stream dear` over the plan of its SELECT, down to the sources."""

    def resolve(node: Node) -> Node:
        if isinstance(node, History):
            return TableScan(_table(node.spec, catalog))
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


def _table(spec: HistorySpec, catalog: Catalog) -> Table:
    """What is kept of a stream, as the table that it is for a SELECT."""
    stream = catalog.relation(spec.stream)
    if not isinstance(stream, Stream):
        raise MillstreamError(f"{spec.stream} was dropped after the query was bound")
    return HistoryTable(stream.name, stream.schema, stream.source or FED, stream=stream, spec=spec)
