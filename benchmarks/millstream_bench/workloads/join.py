"""`join`: two streams joined by key, each within some seconds of the other, out of order: what joins cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import RunError
from millstream_bench.flink import environment
from millstream_bench.harness.jobs import EslJob, SparkJob
from millstream_bench.harness.workload import Choice, Job, Setting, Size, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES_PER_BATCH = 10
LEAST_SLACK = 1000
CLOSE = 1e-9
"""How far a sum may be off, as a share: engines add up in different orders."""


def complete(size: Size, options: dict[str, int]) -> dict[str, int]:
    """The options with the rows of one side and the slack in milliseconds: a second, or more if rows are later.

    >>> complete(Size(2_000_000, 1, 1), {"disorder": 500})
    {'disorder': 500, 'rows_per_side': 1000000, 'slack': 1000}
    """
    slack = max(LEAST_SLACK, options["disorder"] + 1)
    return {**options, "rows_per_side": size.rows // 2, "slack": slack}


def prepare(root: Path, size: Size, options: Mapping[str, int]) -> Path:
    """The data of this workload; `size` counts the rows of both sides."""
    from millstream_bench.data.pairs import expected, streams

    folder = streams(
        root,
        rows=options["rows_per_side"],
        keys=size.keys,
        seed=size.seed,
        disorder=options["disorder"],
        rate=options["rate"],
    )
    # Here, not in the workers, where it would count as memory of an engine.
    expected(folder, options["low"], options["high"])
    return folder


def check(folder: Path, setting: Setting) -> None:
    """Fail unless the kept rows are the pairs that there are: engines that agree might still all be wrong."""
    from millstream_bench.data.pairs import expected, sums

    wanted = expected(Path(setting.data), setting.options["low"], setting.options["high"])
    found = sums(folder)
    if found["rows"] != wanted["rows"]:
        raise RunError(f"{found['rows']:,.0f} pairs came out, and there are {wanted['rows']:,}")
    for name, value in wanted.items():
        if not math.isclose(found[name], value, rel_tol=CLOSE):
            raise RunError(f"the sum of {name} over all pairs is {found[name]:,}, and should be {value:,}")


class Esl(EslJob):
    """The job in ESL."""

    def streams(self) -> str:
        """Both streams."""
        return "; ".join(
            f"""
            CREATE STREAM {side} (ts TIMESTAMP, k INT, v DOUBLE)
              ORDER BY ts SLACK {self.setting.options["slack"]} MILLISECONDS
              SOURCE 'parquet:{self.setting.data}/{side}' OPTIONS (max_files_per_batch = {FILES_PER_BATCH})
            """
            for side in ("a", "b")
        )

    def select(self) -> str:
        """The pairs."""
        low, high = self.setting.options["low"], self.setting.options["high"]
        return f"""
            SELECT a.k, a.v, b.v AS w FROM a JOIN b
            ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL '{low}' SECONDS AND a.ts + INTERVAL '{high}' SECONDS
        """

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows, which are checked."""
        super().write_results(folder)
        check(folder, self.setting)


class Spark(SparkJob):
    """The same by hand: a join of two streams with watermarks."""

    def rows(self, spark: SparkSession) -> DataFrame:
        """The pairs."""
        from pyspark.sql import functions as F  # noqa: N812

        low, high = self.setting.options["low"], self.setting.options["high"]
        near = F.expr(
            f"b.k = a.k AND b.ts BETWEEN a.ts - INTERVAL '{low}' SECONDS AND a.ts + INTERVAL '{high}' SECONDS"
        )
        return self._side(spark, "a").join(self._side(spark, "b"), near).select("a.k", "a.v", F.col("b.v").alias("w"))

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows, which are checked."""
        super().write_results(folder)
        check(folder, self.setting)

    def _side(self, spark: SparkSession, side: str) -> DataFrame:
        return (
            spark.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE")
            .option("maxFilesPerTrigger", FILES_PER_BATCH)
            .parquet(f"{self.setting.data}/{side}")
            .withWatermark("ts", f"{self.setting.options['slack']} milliseconds")
            .alias(side)
        )


def flink(setting: Setting) -> Job:
    """The same in Flink SQL, over the same rows."""
    from millstream_bench.flink.join import flink_join

    return flink_join(setting, "csv", check)


def flink_datagen(setting: Setting) -> Job:
    """The same in Flink SQL, over rows that it makes up itself: what it can do at best."""
    from millstream_bench.flink.join import flink_join

    return flink_join(setting, "datagen")


WORKLOAD = Workload(
    "join",
    "joins: the pairs of two streams that have the same key and lie within some seconds, out of order",
    prepare,
    {"millstream": Esl, "spark": Spark, "flink": flink, "flink-datagen": flink_datagen},
    (
        Choice("low", 2, "how many seconds the time of b may lie before that of a"),
        Choice("high", 3, "how many seconds the time of b may lie after that of a"),
        Choice("disorder", 500, "how late rows are at the most, in milliseconds; the slack is 1 s, or more if needed"),
        Choice("rate", 20_000, "rows of each stream in a second of event time", 1),
    ),
    complete=complete,
    generated=frozenset({"flink-datagen"}),
    set_up={"flink": environment.ensure, "flink-datagen": environment.ensure},
)
