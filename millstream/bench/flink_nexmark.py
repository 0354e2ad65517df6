"""The NEXMark queries in the hands of Flink SQL: a worker's side of the program that runs in Flink's own Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from millstream.bench.flink import FlinkProgram
from millstream.bench.flink_nexmark_queries import QUERIES, SUITE, FlinkQuery, tables
from millstream.bench.nexmark_data import csv_parts
from millstream.bench.workload import Setting

SCANS = {"person": "extra", "auction": "extra", "bid": "extra"}
"""A column of each kind of event: to get at it, all that comes before it must be parsed."""


class FlinkSuite(FlinkProgram):
    """The queries in one session of Flink. Rows come from CSV files, one of each kind for each core."""

    def __init__(self, setting: Setting, queries: Mapping[str, FlinkQuery] = QUERIES) -> None:
        self._queries = queries
        job = {
            "tables": tables(str(csv_parts(Path(setting.data), setting.cores))),
            "queries": {name: asdict(query) for name, query in queries.items()},
            "scans": SCANS,
        }
        super().__init__("flink_nexmark_program.py", setting, "csv", job)

    def run(self, query: str = "") -> float:
        """One run of a query."""
        return float(self._ask(do="run", query=query)["seconds"])

    def keep(self, query: str, folder: Path) -> dict[str, float]:
        """One run that keeps its rows as CSV; of rows that change, only sums."""
        if self._queries[query].sums:
            sums: dict[str, float] = self._ask(do="sums", query=query)["sums"]
            return sums
        self._ask(do="results", query=query, folder=str(folder))
        return {}


def as_in_the_suite(setting: Setting) -> FlinkSuite:
    """Flink with the texts of the nexmark/nexmark suite where those of `QUERIES` are others."""
    return FlinkSuite(setting, SUITE)
