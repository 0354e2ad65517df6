"""`uda forms`: the average per key in a sliding window."""

from millstream_bench.udas.texts import AVERAGE
from millstream_bench.workloads.uda_forms import Grouped, python, workload

WORKLOAD = workload(
    "uda_avg",
    "the average per key in a sliding window: in SQL, built in, in Python",
    Grouped,
    {
        "sql": ("sql_avg", AVERAGE),
        "builtin": ("avg", ""),
        "python": ("python_avg", python("python_avg", "BatchAverage")),
    },
)
