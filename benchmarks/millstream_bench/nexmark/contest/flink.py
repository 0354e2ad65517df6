"""The NEXMark queries in the hands of Flink SQL, in one session. Rows come from CSV files, one of each kind a core."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from millstream_bench.data.csv_parts import csv_parts
from millstream_bench.flink.job import FlinkJob, FlinkQuery
from millstream_bench.flink.session import FlinkSession
from millstream_bench.harness.workload import Setting
from millstream_bench.nexmark.contest.flink_queries import QUERIES, SUITE, tables
from millstream_bench.nexmark.folder import KINDS

SETTINGS = {
    # As the nexmark/nexmark suite has it.
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
}
# The last column of each kind of event: to get at it, all that comes before it must be parsed.
SCANS = tuple(FlinkQuery("extra STRING", f"SELECT extra FROM {kind}") for kind in KINDS)


class FlinkSuite(FlinkSession):
    """The queries, one at a time."""

    def __init__(self, setting: Setting, queries: Mapping[str, FlinkQuery] = QUERIES) -> None:
        self._queries = queries
        folder = event_parts(Path(setting.data), setting.cores)
        super().__init__(setting, "csv", FlinkJob(tuple(tables(str(folder))), queries, SCANS, SETTINGS))

    def run(self, query: str) -> float:
        """One run of a query."""
        return self.run_query(query)

    def keep(self, query: str, folder: Path) -> dict[str, float]:
        """One run that keeps its rows as CSV; of rows that change, only sums."""
        if self._queries[query].sums:
            return self.keep_sums(query)
        self.keep_rows(query, folder)
        return {}


def event_parts(folder: Path, parts: int) -> Path:
    """The events of a folder as CSV, each kind in so many files; times are milliseconds, as Flink has them."""
    return csv_parts(folder, parts, "ms", KINDS)


def as_in_the_suite(setting: Setting) -> FlinkSuite:
    """Flink with the texts of the nexmark/nexmark suite where those of `QUERIES` are others."""
    return FlinkSuite(setting, SUITE)
