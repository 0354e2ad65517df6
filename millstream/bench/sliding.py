"""`sliding`: count, max and sum per key in a sliding window, out of order: what windows cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.bench.jobs import EslJob, SparkJob
from millstream.bench.workload import Choice, Size, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES_PER_BATCH = 2


def prepare(root: Path, size: Size, options: Mapping[str, int]) -> Path:
    """The data of this workload."""
    from millstream.bench.data import ticks

    return ticks(root, rows=size.rows, keys=size.keys, seed=size.seed, disorder=options["disorder"])


class Esl(EslJob):
    """The job in ESL; the run ends when the last window has been answered."""

    def streams(self) -> str:
        """The stream of ticks."""
        return f"""
            CREATE STREAM ticks (ts TIMESTAMP, k INT, v DOUBLE)
              ORDER BY ts SLACK {self.setting.options["disorder"] + 1} MILLISECONDS
              SOURCE 'parquet:{self.setting.data}' OPTIONS (max_files_per_batch = {FILES_PER_BATCH})
        """

    def select(self) -> str:
        """Three aggregates per key and window."""
        range_, slide = self.setting.options["range"], self.setting.options["slide"]
        return f"""
            SELECT k, window_end, count(*) [RANGE {range_} SECONDS, SLIDE {slide} SECONDS, WA ts] AS n,
                   max(v) AS high, sum(v) AS total
            FROM ticks GROUP BY k
        """


class Spark(SparkJob):
    """The same by hand; Spark never answers the windows that are open at the end."""

    def rows(self, spark: SparkSession) -> DataFrame:
        """Three aggregates per key and window."""
        from pyspark.sql import functions as F  # noqa: N812

        chosen = self.setting.options
        return (
            spark.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE")
            .option("maxFilesPerTrigger", FILES_PER_BATCH)
            .parquet(self.setting.data)
            .withWatermark("ts", f"{chosen['disorder'] + 1} milliseconds")
            .groupBy("k", F.window("ts", f"{chosen['range']} seconds", f"{chosen['slide']} seconds"))
            .agg(F.count("*").alias("n"), F.max("v").alias("high"), F.sum("v").alias("total"))
        )


WORKLOAD = Workload(
    "sliding",
    "window aggregates: count, max and sum per key in a sliding window, out of order",
    prepare,
    {"millstream": Esl, "spark": Spark},
    (
        Choice("range", 10, "length of the window in seconds"),
        Choice("slide", 1, "slide of the window in seconds"),
        Choice("disorder", 500, "how late rows are at the most, in milliseconds"),
    ),
    same_rows=False,
)
