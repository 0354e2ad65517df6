"""The two ways to write a job: in ESL, and by hand for Spark. A workload says only what is its own."""

from __future__ import annotations

import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream_bench.harness.workload import Setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class EslJob(ABC):
    """A job through the public interface. A run starts at the INSERT and ends with its query."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @abstractmethod
    def streams(self) -> str:
        """The statements before the clock starts."""

    @abstractmethod
    def select(self) -> str:
        """The SELECT that is measured."""

    def run(self) -> float:
        """One run, in a home of its own."""
        return self._into("noop:")

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows."""
        self._into(f"parquet:{folder}")

    def notes(self) -> dict[str, Any]:
        """Nothing to add."""
        return {}

    def close(self) -> None:
        """Stop Spark."""
        from pyspark.sql import SparkSession

        if active := SparkSession.getActiveSession():
            active.stop()

    def _into(self, sink: str) -> float:
        from millstream import connect

        conf = {"spark.driver.memory": self.setting.memory}
        with connect(once=True, master=f"local[{self.setting.cores}]", conf=conf) as mill:
            mill.execute(f"{self.streams()}; CREATE SINK results TO '{sink}';")
            mill.spark.sparkContext  # noqa: B018  (opened before the clock starts)
            started = time.perf_counter()
            mill.execute(f"INSERT INTO results {self.select()}")
            mill.wait()
            return time.perf_counter() - started


class SparkJob(ABC):
    """A job as a Spark user would write it by hand."""

    def __init__(self, setting: Setting) -> None:
        from millstream_bench.harness.plain_spark import session

        self.setting = setting
        self._spark = session(setting)

    @abstractmethod
    def rows(self, spark: SparkSession) -> DataFrame:
        """The streaming frame that is measured."""

    def run(self) -> float:
        """One run with a fresh checkpoint."""
        return self._into("noop", {})

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows."""
        self._into("parquet", {"path": str(folder)})

    def notes(self) -> dict[str, Any]:
        """Nothing to add."""
        return {}

    def close(self) -> None:
        """Stop Spark."""
        self._spark.stop()

    def _into(self, sink: str, options: dict[str, str]) -> float:
        checkpoint = tempfile.mkdtemp(prefix="bench-checkpoint-")
        try:
            started = time.perf_counter()
            query = (
                self.rows(self._spark)
                .writeStream.format(sink)
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
