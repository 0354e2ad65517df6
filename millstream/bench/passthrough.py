"""`passthrough`: Parquet to nowhere through one filter and three expressions: what the mill itself costs."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millstream.bench.workload import Job, Setting, Size, Workload

QUERY = """
SELECT date_trunc('MINUTE', ts) AS minute, k * 2 + 1 AS code, v * 1.19 AS gross
FROM readings WHERE note <> 'test'
"""


def prepare(root: Path, size: Size, options: Mapping[str, int]) -> Path:
    """The data of this workload."""
    from millstream.bench.data import readings

    return readings(root, rows=size.rows, keys=size.keys, seed=size.seed)


class MillstreamJob:
    """The job in ESL, through the public interface. A run starts at the INSERT and ends with its query."""

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

        conf = {"spark.driver.memory": self._setting.memory}
        with connect(once=True, master=f"local[{self._setting.cores}]", conf=conf) as mill:
            mill.execute(
                f"""
                CREATE STREAM readings (ts TIMESTAMP, k INT, v DOUBLE, note STRING)
                  SOURCE 'parquet:{self._setting.data}';
                CREATE SINK results TO '{sink}';
                """
            )
            mill.spark.sparkContext  # noqa: B018  (opened before the clock starts)
            started = time.perf_counter()
            mill.execute(f"INSERT INTO results {QUERY}")
            mill.wait()
            return time.perf_counter() - started


class SparkJob:
    """The job as a Spark user would write it by hand."""

    def __init__(self, setting: Setting) -> None:
        from millstream.bench.plain_spark import session

        self._data = setting.data
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
        checkpoint = tempfile.mkdtemp(prefix="bench-checkpoint-")
        try:
            started = time.perf_counter()
            query = (
                self._rows()
                .writeStream.format(sink)
                .options(**options)
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            return time.perf_counter() - started
        finally:
            shutil.rmtree(checkpoint, ignore_errors=True)

    def _rows(self) -> Any:
        from pyspark.sql.functions import col, date_trunc

        return (
            self._spark.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE, note STRING")
            .parquet(self._data)
            .filter(col("note") != "test")
            .select(
                date_trunc("MINUTE", "ts").alias("minute"),
                (col("k") * 2 + 1).alias("code"),
                (col("v") * 1.19).alias("gross"),
            )
        )


def _millstream(setting: Setting) -> Job:
    return MillstreamJob(setting)


def _spark(setting: Setting) -> Job:
    return SparkJob(setting)


WORKLOAD = Workload(
    "passthrough",
    "stateless throughput: Parquet to nowhere through one filter and three expressions",
    prepare,
    {"millstream": _millstream, "spark": _spark},
)
