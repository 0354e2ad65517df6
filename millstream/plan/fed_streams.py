"""Streams without a source read what is put into them: files in the home, whose place no checkpoint depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millstream.catalog.address import Address
from millstream.catalog.definitions import Stream
from millstream.plan.algebra import Node, rewrite
from millstream.plan.scans import LateScan, RejectedScan, Scan


def with_feeds(plan: Node, place: Callable[[Stream], Address]) -> Node:
    """A logical plan in which every stream has a source."""

    def fed(node: Node) -> Node:
        if isinstance(node, Scan | RejectedScan | LateScan) and node.stream.source is None:
            return replace(node, stream=replace(node.stream, source=place(node.stream), fed=True))
        return node

    return rewrite(plan, fed)
