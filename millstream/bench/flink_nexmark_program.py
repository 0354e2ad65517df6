"""Runs in Flink's own Python, which has no Millstream: queries in Flink SQL, asked for by lines of JSON.

The job: `python flink_nexmark_program.py '{"tables": [...], "queries": {"q0": {...}}, ...}'`. Requests: {"do": "run",
"query": ...}, {"do": "scan"} (the sources alone), {"do": "results", "query": ..., "folder": ...} and {"do": "sums",
"query": ...}; each is answered by one line.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


class Program:
    """One session of Flink in this process, and the tables of the job."""

    def __init__(self, job: dict[str, Any]) -> None:
        from pyflink.table import (  # type: ignore[import-not-found,unused-ignore]
            EnvironmentSettings,
            TableEnvironment,
        )

        self._queries: dict[str, dict[str, Any]] = job["queries"]
        self._tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        settings = {
            "parallelism.default": str(job["cores"]),
            "taskmanager.numberOfTaskSlots": str(job["cores"]),
            "table.local-time-zone": "UTC",
            # As the nexmark/nexmark suite has it.
            "table.exec.mini-batch.enabled": "true",
            "table.exec.mini-batch.allow-latency": "2 s",
            "table.exec.mini-batch.size": "50000",
            "table.optimizer.distinct-agg.split.enabled": "true",
            "table.optimizer.agg-phase-strategy": "TWO_PHASE",
        }
        for key, value in settings.items():
            self._tables.get_config().set(key, value)
        for statement in job["tables"]:
            self._tables.execute_sql(statement)
        for name, query in self._queries.items():
            self._tables.execute_sql(
                f"CREATE TABLE nowhere_{name} ({query['columns']}) WITH ('connector' = 'blackhole')"
            )
        for kind, column in job["scans"].items():
            self._tables.execute_sql(f"CREATE TABLE unseen_{kind} ({column} STRING) WITH ('connector' = 'blackhole')")
        self._scans: dict[str, str] = job["scans"]

    def run(self, name: str) -> float:
        """A query once; the seconds from its submission to its end."""
        return self._timed(f"INSERT INTO nowhere_{name} {self._queries[name]['select']}")

    def scan(self) -> float:
        """The sources alone: a column of every event read and thrown away."""
        together = self._tables.create_statement_set()
        for kind, column in self._scans.items():
            together.add_insert_sql(f"INSERT INTO unseen_{kind} SELECT {column} FROM {kind}")
        started = time.perf_counter()
        together.execute().wait()
        return time.perf_counter() - started

    def results(self, name: str, folder: str) -> None:
        """A query once more, its rows kept as CSV."""
        self._tables.execute_sql(
            f"CREATE TEMPORARY TABLE kept ({self._queries[name]['columns']}) "
            f"WITH ('connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'csv')"
        )
        self._timed(f"INSERT INTO kept {self._queries[name]['select']}")
        self._tables.execute_sql("DROP TEMPORARY TABLE kept")

    def sums(self, name: str) -> dict[str, float]:
        """A query whose rows change: sums over the rows that are there at the end."""
        query = self._queries[name]
        wanted = ", ".join(f"CAST({one} AS DOUBLE)" for one in query["sums"])
        last: list[float] = []
        with self._tables.execute_sql(f"SELECT {wanted} FROM ({query['select']})").collect() as rows:
            for row in rows:  # each one replaces the row before it
                last = list(row)
        return {expression: last[number] for number, expression in enumerate(query["sums"])}

    def _timed(self, statement: str) -> float:
        started = time.perf_counter()
        self._tables.execute_sql(statement).wait()
        return time.perf_counter() - started


def main(job: str) -> int:
    """Serve until standard input ends."""
    from flink_serving import serve  # type: ignore[import-not-found,unused-ignore]

    return int(serve(lambda: _answering(Program(json.loads(job)))))


def _answering(program: Program) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def do(request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "results":
                program.results(request["query"], request["folder"])
                return {"done": True}
            case "sums":
                return {"sums": program.sums(request["query"])}
            case "scan":
                return {"seconds": program.scan()}
        return {"seconds": program.run(request["query"])}

    return do


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
