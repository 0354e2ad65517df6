"""`uda udaf`: the same aggregate as a Python UDAF of Flink. It is so slow that it gets rows of its own, and fewer."""

from __future__ import annotations

from pathlib import Path

from millstream.bench import flink_env, sliding
from millstream.bench.uda_udaf import answers, batch_form
from millstream.bench.workload import Job, Setting, Workload


def digest(folder: Path, setting: Setting) -> dict[str, float]:
    """Sums over all windows: both engines answer those that are open at the end, and few rows have no others."""
    return answers(folder, None)


def pyflink(setting: Setting) -> Job:
    """Flink SQL with an AggregateFunction in Python."""
    from millstream.bench.flink import FlinkJob

    return FlinkJob(setting, "csv", "python")


WORKLOAD = Workload(
    "uda_pyflink",
    "the same aggregate in Python: Millstream, and a Python UDAF of Flink",
    sliding.prepare,
    {"millstream": batch_form, "pyflink": pyflink},
    sliding.WORKLOAD.choices,
    complete=sliding.complete,
    digest=digest,
    set_up={"pyflink": flink_env.ensure},
)
