"""Which form a user-defined aggregate takes: its text decides, and whether it is asked for a window or for a tuple."""

from __future__ import annotations

from millstream.udas.kernels.aggregate import KernelAggregate, KernelParts
from millstream.udas.kernels.kernel import kernel_of
from millstream.udas.kernels.linear import linear
from millstream.udas.kernels.linear_aggregate import LinearAggregate
from millstream.udas.online import OnlineAggregate, OnlineKernel, is_online
from millstream.udas.sql_aggregate import SqlAggregate, Versions


def sql_aggregate(versions: Versions) -> SqlAggregate:
    """Sums where the body only adds up, else a kernel where it can be one, else a class of Python."""
    if linear(versions.any) is not None:
        return LinearAggregate(versions)
    if kernel_of(versions.any) is None:
        return SqlAggregate(versions)
    return KernelParts(versions) if versions.algebraic else KernelAggregate(versions)


def grouped_aggregate(versions: Versions) -> SqlAggregate:
    """The form in a grouped window: a base version that answers while its input comes has all its answers there.

    A window version alone tells how its window stands after each tuple: in a grouped one, how it stands at the end.
    """
    if versions.base is None or not is_online(versions.base):
        return sql_aggregate(versions)
    return OnlineAggregate(versions) if kernel_of(versions.base) is None else OnlineKernel(versions)
