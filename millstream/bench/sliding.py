"""`sliding`: count, max and sum per key in a sliding window, out of order: what windows cost."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from millstream.bench.workload import Choice, Job, Setting, Size, Workload

FILES_PER_BATCH = 2


def prepare(root: Path, size: Size, options: Mapping[str, int]) -> Path:
    """The data of this workload."""
    from millstream.bench.data import ticks

    return ticks(root, rows=size.rows, keys=size.keys, seed=size.seed, disorder=options["disorder"])


class MillstreamJob:
    """The job in ESL. A run starts at the INSERT and ends when the last window has been answered."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def run(self) -> float:
        """One run, in a home of its own."""
        return self._into("noop:")

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows."""
        self._into(f"parquet:{folder}")

    def close(self) -> None:
        """Stop Spark."""
        from pyspark.sql import SparkSession

        if active := SparkSession.getActiveSession():
            active.stop()

    def _into(self, sink: str) -> float:
        from millstream import connect

        chosen = self._setting.options
        conf = {"spark.driver.memory": self._setting.memory}
        with connect(once=True, master=f"local[{self._setting.cores}]", conf=conf) as mill:
            mill.execute(
                f"""
                CREATE STREAM ticks (ts TIMESTAMP, k INT, v DOUBLE)
                  ORDER BY ts SLACK {chosen["disorder"] + 1} MILLISECONDS
                  SOURCE 'parquet:{self._setting.data}' OPTIONS (max_files_per_batch = {FILES_PER_BATCH});
                CREATE SINK results TO '{sink}';
                """
            )
            mill.spark.sparkContext  # noqa: B018  (opened before the clock starts)
            started = time.perf_counter()
            mill.execute(
                f"""
                INSERT INTO results
                SELECT k, window_end, count(*) [RANGE {chosen["range"]} SECONDS, SLIDE {chosen["slide"]} SECONDS, WA ts]
                         AS n, max(v) AS high, sum(v) AS total
                FROM ticks GROUP BY k
                """
            )
            mill.wait()
            return time.perf_counter() - started


class SparkJob:
    """The job as a Spark user would write it by hand; Spark never answers the windows that are open at the end."""

    def __init__(self, setting: Setting) -> None:
        from millstream.bench.plain_spark import session

        self._setting = setting
        self._spark = session(setting)

    def run(self) -> float:
        """One run with a fresh checkpoint."""
        return self._into("noop", {})

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows."""
        self._into("parquet", {"path": str(folder)})

    def close(self) -> None:
        """Stop Spark."""
        self._spark.stop()

    def _into(self, sink: str, options: dict[str, str]) -> float:
        from pyspark.sql import functions as F  # noqa: N812

        chosen = self._setting.options
        checkpoint = tempfile.mkdtemp(prefix="bench-checkpoint-")
        try:
            started = time.perf_counter()
            window = F.window("ts", f"{chosen['range']} seconds", f"{chosen['slide']} seconds")
            rows = (
                self._spark.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE")
                .option("maxFilesPerTrigger", FILES_PER_BATCH)
                .parquet(self._setting.data)
                .withWatermark("ts", f"{chosen['disorder'] + 1} milliseconds")
                .groupBy("k", window)
                .agg(F.count("*").alias("n"), F.max("v").alias("high"), F.sum("v").alias("total"))
            )
            query = (
                rows.writeStream.format(sink)
                .outputMode("append")
                .options(**options)
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            return time.perf_counter() - started
        finally:
            shutil.rmtree(checkpoint, ignore_errors=True)


def _millstream(setting: Setting) -> Job:
    return MillstreamJob(setting)


def _spark(setting: Setting) -> Job:
    return SparkJob(setting)


WORKLOAD = Workload(
    "sliding",
    "window aggregates: count, max and sum per key in a sliding window, out of order",
    prepare,
    {"millstream": _millstream, "spark": _spark},
    (
        Choice("range", 10, "length of the window in seconds"),
        Choice("slide", 1, "slide of the window in seconds"),
        Choice("disorder", 500, "how late rows are at the most, in milliseconds"),
    ),
    same_rows=False,
)
