"""`uda forms`: the maximum per key in a sliding window, in SQL an ALGEBRAIC aggregate."""

from millstream_bench.udas.texts import MAXIMUM
from millstream_bench.workloads.uda_forms import Grouped, python, workload

WORKLOAD = workload(
    "uda_max",
    "the maximum per key in a sliding window: in SQL (ALGEBRAIC), built in, in Python",
    Grouped,
    {
        "sql": ("sql_max", MAXIMUM),
        "builtin": ("max", ""),
        "python": ("python_max", python("python_max", "BatchHighest")),
    },
)
