"""A Spark session for jobs written by hand: Spark's own defaults, but for what a good user would set."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream_bench.harness.workload import Setting


def session(setting: Setting) -> SparkSession:
    """Start Spark on the same cores and memory that Millstream is given.

    ANSI mode stays on, as Spark has it by default; Millstream turns it off and guards whole numbers itself.
    """
    conf = {
        "spark.app.name": "bench",
        "spark.driver.memory": setting.memory,
        # State beyond the heap; the default provider keeps all of it there.
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        # The default of 200 would make every shuffle of a small machine slow.
        "spark.sql.shuffle.partitions": str(setting.cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master(f"local[{setting.cores}]")
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
