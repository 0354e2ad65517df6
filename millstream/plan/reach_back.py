"""How far back a query looks: what its answers from some moment on depend on."""

from __future__ import annotations

from millstream.plan.algebra import Derived, Filter, Node, Project, WindowAggregate
from millstream.plan.column_origins import steps, trace
from millstream.plan.joins_and_unions import TableJoin, Union
from millstream.plan.scans import Scan


def reach_back(plan: Node) -> int | None:
    """How long before the low-watermark the oldest tuple may be stamped that an answer to come depends on.

    In microseconds. None where no length says it: sessions, windows of rows, landmark windows, OVER and joins have what
    came long before in their state, and windows that are counted from the first tuple need that one.
    """
    match plan:
        case Scan():
            return 0
        case Filter() | Project() | Derived():
            return reach_back(plan.below)
        case TableJoin():
            return reach_back(plan.left) if not any(isinstance(step, Scan) for step in steps(plan.right)) else None
        case Union():
            found = [reach_back(each) for each in plan.inputs]
            known = [each for each in found if each is not None]
            return max(known, default=0) if len(known) == len(found) else None
        case WindowAggregate():
            return _of_windows(plan)
    return None


def _of_windows(plan: WindowAggregate) -> int | None:
    """A window that is still to be answered ends after the low-watermark, and begins no more than its length before.

    What it is answered from are perhaps answers of other windows, which end no earlier than it begins, and whose
    low-watermark is as far behind as they are long.
    """
    work, below = plan.window_aggregate, reach_back(plan.below)
    window = work.window.paned
    if below is None or window is None or window.endless or window.whole or window.length is None:
        return None
    if work.from_first or work.time is None or not _moves_along_progress(plan.below, work.time):
        return None
    return window.length + 2 * below


def _moves_along_progress(below: Node, time: str) -> bool:
    """Whether a column is the time stamp of the stream or the bound of a window, of which the low-watermark speaks."""
    match trace(below, time):
        case (Scan() as scan, column):
            return column.lower() == (scan.stream.time or "").lower()
        case (WindowAggregate(), _):
            return True
        case (Union() as union, column):
            place = [known.name.lower() for known in union.schema].index(column.lower())
            return all(_moves_along_progress(each, list(each.schema)[place].name) for each in union.inputs)
    return False
