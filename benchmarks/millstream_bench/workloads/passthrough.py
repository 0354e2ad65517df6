"""`passthrough`: Parquet to nowhere through one filter and three expressions: what the mill itself costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from millstream_bench.harness.jobs import EslJob, SparkJob
from millstream_bench.harness.workload import Size, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def prepare(root: Path, size: Size, options: Mapping[str, int]) -> Path:
    """The data of this workload."""
    from millstream_bench.data.rows import readings

    return readings(root, rows=size.rows, keys=size.keys, seed=size.seed)


class Esl(EslJob):
    """The job in ESL."""

    def streams(self) -> str:
        """The stream of readings."""
        return f"""
            CREATE STREAM readings (ts TIMESTAMP, k INT, v DOUBLE, note STRING)
              SOURCE 'parquet:{self.setting.data}'
        """

    def select(self) -> str:
        """One filter and three expressions."""
        return """
            SELECT date_trunc('MINUTE', ts) AS minute, k * 2 + 1 AS code, v * 1.19 AS gross
            FROM readings WHERE note <> 'test'
        """


class Spark(SparkJob):
    """The same by hand."""

    def rows(self, spark: SparkSession) -> DataFrame:
        """One filter and three expressions."""
        from pyspark.sql.functions import col, date_trunc

        return (
            spark.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE, note STRING")
            .parquet(self.setting.data)
            .filter(col("note") != "test")
            .select(
                date_trunc("MINUTE", "ts").alias("minute"),
                (col("k") * 2 + 1).alias("code"),
                (col("v") * 1.19).alias("gross"),
            )
        )


WORKLOAD = Workload(
    "passthrough",
    "stateless throughput: Parquet to nowhere through one filter and three expressions",
    prepare,
    {"millstream": Esl, "spark": Spark},
)
