"""`uda forms`: the average over the last rows of a key for every row, in SQL by EXPIRE."""

from millstream.bench.uda_forms import Over, python, workload
from millstream.bench.uda_texts import WINDOW_AVERAGE

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
