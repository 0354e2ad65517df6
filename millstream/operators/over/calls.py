"""Chooses the operator of the OVER calls of a SELECT."""

from __future__ import annotations

from millstream.operators.over.framed_over import FramedOver
from millstream.operators.over.kernel_over import KernelOver, runs_by_kernels
from millstream.operators.over.over import OverAggregate
from millstream.operators.over.over_aggregate_job import OverAggregateJob
from millstream.operators.over.paned_over import PanedOver, runs_by_panes
from millstream.operators.over.stepped_over import SteppedOver
from millstream.udas.sql_aggregate import SqlAggregate


def over_operator(work: OverAggregateJob) -> type[FramedOver]:
    """Frames for built-in aggregates and those of Python; for those in SQL panes or kernels, or else step by step."""
    if not any(isinstance(framed.call.aggregate, SqlAggregate) for framed in work.calls):
        return OverAggregate
    if runs_by_panes(work):
        return PanedOver
    return KernelOver if runs_by_kernels(work) else SteppedOver
