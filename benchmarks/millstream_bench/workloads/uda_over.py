"""`uda forms`: the average over the last rows of a key for every row, in SQL by EXPIRE."""

from millstream_bench.udas.texts import WINDOW_AVERAGE
from millstream_bench.workloads.uda_forms import Over, python, workload

WORKLOAD = workload(
    "uda_over",
    "the average over the last rows of each key: in SQL (with EXPIRE), built in, in Python",
    Over,
    {
        "sql": ("sql_avg", WINDOW_AVERAGE),
        "builtin": ("avg", ""),
        "python": ("python_avg", python("python_avg", "BatchAverage")),
    },
)
