"""`uda forms`: the average per key in a sliding window."""

from millstream.bench.uda_forms import Grouped, python, workload
from millstream.bench.uda_texts import AVERAGE

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
