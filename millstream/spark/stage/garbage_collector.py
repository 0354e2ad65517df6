"""Python's garbage collector in Spark's processes: it need not scan imported modules."""

from __future__ import annotations

import gc
import sys

_seen = 0


def freeze_imported_modules() -> None:
    """Spare the collector what lives as long as this process; called at the end of a task.

    PySpark has all garbage collected after every task, and there are several for each micro-batch. To look through the
    modules of Arrow, pandas and numba takes some 60 ms each time, more than many a task itself.
    """
    global _seen  # noqa: PLW0603  (a process has one collector)
    if len(sys.modules) != _seen:
        gc.collect()
        gc.freeze()
        _seen = len(sys.modules)
