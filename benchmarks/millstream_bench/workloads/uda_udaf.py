"""`uda udaf`: one Python aggregate, by Millstream and by hand for Spark's `applyInPandasWithState`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from millstream_bench.harness.jobs import SparkJob
from millstream_bench.harness.workload import Job, Setting, Workload
from millstream_bench.workloads import sliding
from millstream_bench.workloads.uda_forms import Grouped, python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def passed(setting: Setting) -> int:
    """The time that Spark's watermark has passed at the end: the last row may be late, and so is a watermark."""
    from millstream_bench.data.rows import START_MICROS

    chosen = setting.options
    last = (chosen["rows"] - 1) * 1_000_000 // chosen["rate"]
    return START_MICROS + last - (2 * chosen["disorder"] + 1) * 1000


def digest(folder: Path, setting: Setting) -> dict[str, float]:
    """Sums over the windows that every engine answers: Spark leaves out those that its watermark has not passed."""
    return answers(folder, passed(setting))


def answers(folder: Path, until: int | None) -> dict[str, float]:
    """How many windows that end by a time are answered, and the sum of the answers; of all windows, without a time."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    sums = {"number": 0.0, "sum": 0.0}
    for file in sorted(folder.glob("[!._]*.parquet")):
        rows = pq.read_table(file, columns=["window_end", "answer"])
        if until is not None:
            rows = rows.filter(pc.less_equal(rows["window_end"].cast(pa.timestamp("us")).cast(pa.int64()), until))
        sums["number"] += rows.num_rows
        sums["sum"] += pc.sum(rows["answer"]).as_py() or 0
    return {f"the {name} of the answers to windows that all answer": value for name, value in sums.items()}


def batch_form(setting: Setting) -> Job:
    """Millstream with the batch forms of the class."""
    return Grouped(setting, "python_avg", python("python_avg", "BatchAverage"))


def row_form(setting: Setting) -> Job:
    """Millstream with the class that is called for each tuple."""
    return Grouped(setting, "python_avg", python("python_avg", "Average"))


class ByHand(SparkJob):
    """Spark by hand: a function for each key and batch, which keeps panes and answers what the watermark has passed."""

    def __init__(self, setting: Setting, batch: bool) -> None:
        # Spark's workers would take the first Python on the PATH, which need not be the one with the packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        super().__init__(setting)
        self._batch = batch

    def rows(self, spark: SparkSession) -> DataFrame:
        """One aggregate per key and window."""
        from millstream_bench.udas.by_hand import RESULT, STATE, answering

        chosen = self.setting.options
        return (
            spark.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE")
            .option("maxFilesPerTrigger", sliding.FILES_PER_BATCH)
            .parquet(self.setting.data)
            .withWatermark("ts", f"{chosen['disorder'] + 1} milliseconds")
            .groupBy("k")
            .applyInPandasWithState(
                answering(chosen["range"], chosen["slide"], self._batch), RESULT, STATE, "append", "EventTimeTimeout"
            )
        )


def by_hand(batch: bool) -> Callable[[Setting], Job]:
    """Spark by hand with the one or the other form of the class."""
    return lambda setting: ByHand(setting, batch)


WORKLOAD = Workload(
    "uda_udaf",
    "the same aggregate in Python: Millstream, and hand-written applyInPandasWithState",
    sliding.prepare,
    {
        "millstream": batch_form,
        "millstream-rows": row_form,
        "applyinpandas": by_hand(batch=False),
        "applyinpandas-batch": by_hand(batch=True),
    },
    sliding.WORKLOAD.choices,
    same_rows=False,
    complete=sliding.complete,
    digest=digest,
)
