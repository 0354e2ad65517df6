"""Which operator computes the OVER calls of a SELECT."""

from __future__ import annotations

from millstream.aggregates.user.sql_aggregate import SqlAggregate
from millstream.operators.framed import Framed
from millstream.operators.framed_over import FramedOver
from millstream.operators.kernel_over import KernelOver, runs_by_kernels
from millstream.operators.over import OverAggregate
from millstream.operators.paned_over import PanedOver, runs_by_panes
from millstream.operators.stepped_over import SteppedOver


def over_operator(work: Framed) -> type[FramedOver]:
    """Frames for built-in aggregates and those of Python; for those in SQL panes or kernels, or else step by step."""
    if not any(isinstance(framed.call.aggregate, SqlAggregate) for framed in work.calls):
        return OverAggregate
    if runs_by_panes(work):
        return PanedOver
    return KernelOver if runs_by_kernels(work) else SteppedOver
