"""Which form a user-defined aggregate takes in grouped windows: its text decides."""

from __future__ import annotations

from millstream.aggregates.user.kernel import kernel_of
from millstream.aggregates.user.kernel_aggregate import KernelAggregate, KernelParts
from millstream.aggregates.user.linear import linear
from millstream.aggregates.user.linear_aggregate import LinearAggregate
from millstream.aggregates.user.sql_aggregate import SqlAggregate, Versions


def sql_aggregate(versions: Versions) -> SqlAggregate:
    """Sums where the body only adds up, else a kernel where it can be one, else a class of Python."""
    if linear(versions.any) is not None:
        return LinearAggregate(versions)
    if kernel_of(versions.any) is None:
        return SqlAggregate(versions)
    return KernelParts(versions) if versions.algebraic else KernelAggregate(versions)
