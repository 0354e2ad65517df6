"""The NEXMark queries in the hands of Millstream: the project's own, one at a time or several at once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millstream_bench.harness.workload import Setting
from millstream_bench.nexmark import queries


class EslSuite:
    """The queries through the public interface. A run starts at the first INSERT and ends with the last query."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def run(self, query: str) -> float:
        """One run, in a home of its own; q10 writes files, as is its purpose."""
        names = query.split(",")
        with tempfile.TemporaryDirectory(prefix="bench-files-") as place:
            return self._into({name: f"parquet:{place}/rows" if name == "q10" else "noop:" for name in names})

    def keep(self, query: str, folder: Path) -> dict[str, float]:
        """One run that keeps its rows."""
        self._into({query: f"parquet:{folder}"})
        return {}

    def notes(self) -> dict[str, Any]:
        """Nothing to add."""
        return {}

    def close(self) -> None:
        """Stop Spark."""
        from pyspark.sql import SparkSession

        if active := SparkSession.getActiveSession():
            active.stop()

    def _into(self, sinks: Mapping[str, str]) -> float:
        from millstream import connect

        conf = {"spark.driver.memory": self._setting.memory}
        with connect(once=True, master=f"local[{self._setting.cores}]", conf=conf) as mill:
            batches = self._setting.options["files_per_batch"]
            mill.execute(queries.streams(self._setting.data, files_per_batch=batches))
            mill.execute("\n".join(queries.sink(name, address) for name, address in sinks.items()))
            mill.spark.sparkContext  # noqa: B018  (opened before the clock starts)
            started = time.perf_counter()
            for name in sinks:
                mill.execute(queries.query(name))
            mill.wait()
            return time.perf_counter() - started
