"""Which streams a plan reads."""

from __future__ import annotations

from millstream.catalog.definitions import HistoryTable, Stream
from millstream.plan.algebra import Node
from millstream.plan.column_origins import steps
from millstream.plan.scans import LateScan, RejectedScan, Scan, TableScan


def streams_of(plan: Node) -> list[Stream]:
    """The streams that a plan reads live, in order."""
    return [step.stream for step in steps(plan) if isinstance(step, Scan | RejectedScan | LateScan)]


def sources_of(plan: Node) -> list[str]:
    """The sources that a plan reads, in order: what a checkpoint is good for."""
    return [f"{s.name.lower()} {s.source or ''}{'' if s.keep is None else ' kept'}".rstrip() for s in streams_of(plan)]


def histories_of(plan: Node) -> list[Stream]:
    """The streams of which a plan reads what is kept, in order."""
    tables = (step.table for step in steps(plan) if isinstance(step, TableScan))
    return [table.stream for table in tables if isinstance(table, HistoryTable)]
