"""The NEXMark queries in the hands of Spark, written by hand."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream_bench.harness.workload import Setting
from millstream_bench.nexmark.contest.spark_queries import QUERIES, Events, SparkQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

PARTED = ["dt", "hm"]
"""The columns by which q10 parts its files."""


class SparkSuite:
    """The queries in one session. Windows that are open at the end are never answered, unless rows are updated."""

    def __init__(self, setting: Setting) -> None:
        from millstream_bench.harness.plain_spark import session

        self._spark = session(setting)
        self._events = Events(self._spark, setting.data, setting.options["files_per_batch"])

    def run(self, query: str) -> float:
        """One run with a fresh checkpoint; q10 writes files, as is its purpose."""
        if query != "q10":
            return self._timed(query, lambda writer: writer.format("noop"))
        with tempfile.TemporaryDirectory(prefix="bench-files-") as place:
            return self._timed(
                query, lambda writer: writer.partitionBy(*PARTED).format("parquet").option("path", place)
            )

    def keep(self, query: str, folder: Path) -> dict[str, float]:
        """One run that keeps its rows: of those that replace each other the last ones."""
        chosen = QUERIES[query]
        if not chosen.keys:
            parted = PARTED if query == "q10" else []
            self._timed(query, lambda writer: writer.partitionBy(*parted).format("parquet").option("path", str(folder)))
            return {}
        with tempfile.TemporaryDirectory(prefix="bench-updates-") as place:

            def write(rows: DataFrame, batch: int) -> None:
                rows.write.parquet(f"{place}/batch={batch}")

            self._timed(query, lambda writer: writer.foreachBatch(write))
            self._last(chosen, place).write.parquet(str(folder))
        return {}

    def notes(self) -> dict[str, Any]:
        """Nothing to add."""
        return {}

    def close(self) -> None:
        """Stop Spark."""
        self._spark.stop()

    def _last(self, query: SparkQuery, place: str) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as F  # noqa: N812

        newest = F.row_number().over(Window.partitionBy(*query.keys).orderBy(F.desc("batch")))
        updates = self._spark.read.parquet(place).withColumn("place", newest)
        return updates.where("place = 1").drop("batch", "place")

    def _timed(self, query: str, into: Any) -> float:
        checkpoint = tempfile.mkdtemp(prefix="bench-checkpoint-")
        try:
            started = time.perf_counter()
            writer: DataStreamWriter = QUERIES[query].rows(self._events).writeStream
            running = (
                into(writer)
                .outputMode(QUERIES[query].mode)
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            running.awaitTermination()
            return time.perf_counter() - started
        finally:
            shutil.rmtree(checkpoint, ignore_errors=True)
