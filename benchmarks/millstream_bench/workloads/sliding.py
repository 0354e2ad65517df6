"""`sliding`: count, max and sum per key in a sliding window, out of order: what windows cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from millstream_bench.flink import environment
from millstream_bench.harness.jobs import EslJob, SparkJob
from millstream_bench.harness.workload import Choice, Job, Setting, Size, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES_PER_BATCH = 4
HIGHEST_RATE = 100_000
SPAN = 3
"""How many times the range the data lasts at least, so that most windows are full ones."""


def complete(size: Size, options: dict[str, int]) -> dict[str, int]:
    """The options with the rate that is used if none is chosen.

    >>> complete(Size(9_000_000, 1, 1), {"range": 600, "rate": 0})["rate"]
    5000
    """
    usual = max(1, min(HIGHEST_RATE, size.rows // (SPAN * options["range"])))
    return {**options, "rate": options["rate"] or usual}


def prepare(root: Path, size: Size, options: Mapping[str, int]) -> Path:
    """The data of this workload."""
    from millstream_bench.data.rows import ticks

    return ticks(
        root, rows=size.rows, keys=size.keys, seed=size.seed, disorder=options["disorder"], rate=options["rate"]
    )


def digest(folder: Path, setting: Setting) -> dict[str, float]:
    """Sums over the windows that every engine answers: Spark leaves out those that its watermark has not passed."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from millstream_bench.data.rows import START_MICROS

    chosen = setting.options
    # The last row may be late by all of the disorder, and a watermark lies one disorder and a millisecond behind.
    passed = START_MICROS + (chosen["rows"] - 1) * 1_000_000 // chosen["rate"] - (2 * chosen["disorder"] + 1) * 1000
    sums = {"rows": 0.0, "n": 0.0, "high": 0.0, "total": 0.0}
    for file in sorted(folder.glob("[!._]*.parquet")):
        rows = pq.read_table(file, columns=["window_end", "n", "high", "total"])
        ends = rows["window_end"].cast(pa.timestamp("us")).cast(pa.int64())
        rows = rows.filter(pc.less_equal(ends, passed))
        sums["rows"] += rows.num_rows
        for name in ("n", "high", "total"):
            sums[name] += pc.sum(rows[name]).as_py() or 0
    return {f"{name} of the windows that all answer": value for name, value in sums.items()}


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
            .select("k", F.col("window.end").alias("window_end"), "n", "high", "total")
        )


def flink(setting: Setting) -> Job:
    """The same in Flink SQL, over the same rows."""
    from millstream_bench.flink.sliding import flink_sliding

    return flink_sliding(setting, "csv")


def flink_datagen(setting: Setting) -> Job:
    """The same in Flink SQL, over rows that it makes up itself: what it can do at best."""
    from millstream_bench.flink.sliding import flink_sliding

    return flink_sliding(setting, "datagen")


WORKLOAD = Workload(
    "sliding",
    "window aggregates: count, max and sum per key in a sliding window, out of order",
    prepare,
    {"millstream": Esl, "spark": Spark, "flink": flink, "flink-datagen": flink_datagen},
    (
        Choice("range", 10, "length of the window in seconds", 1),
        Choice("slide", 1, "slide of the window in seconds", 1),
        Choice("disorder", 500, "how late rows are at the most, in milliseconds"),
        Choice("rate", 0, "rows in a second of event time; 0: 100,000, or fewer so that the rows last 3 ranges"),
    ),
    same_rows=False,
    complete=complete,
    digest=digest,
    generated=frozenset({"flink-datagen"}),
    set_up={"flink": environment.ensure, "flink-datagen": environment.ensure},
)
