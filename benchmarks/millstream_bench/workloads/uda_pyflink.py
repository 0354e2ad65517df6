"""`uda udaf`: the same aggregate as a Python UDAF of Flink. It is so slow that it gets rows of its own, and fewer."""

from __future__ import annotations

from pathlib import Path

from millstream_bench.flink import environment
from millstream_bench.harness.workload import Job, Setting, Workload
from millstream_bench.workloads import sliding
from millstream_bench.workloads.uda_udaf import answers, batch_form


def digest(folder: Path, setting: Setting) -> dict[str, float]:
    """Sums over all windows: both engines answer those that are open at the end, and few rows have no others."""
    return answers(folder, None)


def pyflink(setting: Setting) -> Job:
    """Flink SQL with an AggregateFunction in Python."""
    from millstream_bench.flink.sliding import flink_sliding

    return flink_sliding(setting, "csv", "python")


WORKLOAD = Workload(
    "uda_pyflink",
    "the same aggregate in Python: Millstream, and a Python UDAF of Flink",
    sliding.prepare,
    {"millstream": batch_form, "pyflink": pyflink},
    sliding.WORKLOAD.choices,
    complete=sliding.complete,
    digest=digest,
    set_up={"pyflink": environment.ensure},
)
