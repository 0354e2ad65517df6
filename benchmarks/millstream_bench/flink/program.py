"""Runs in Flink's own Python, which has no Millstream: queries in Flink SQL, asked for by lines of JSON.

The job: `python program.py '{"tables": [...], "queries": {"q0": {...}}, ...}'`. Requests: {"do": "run", "query": ...},
{"do": "scan"} (the sources alone), {"do": "results", "query": ..., "folder": ...} and {"do": "sums", "query": ...};
each is answered by one line.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any

PYTHON_SETTINGS = {
    "python.executable": sys.executable,
    "python.client.executable": sys.executable,
    # So many states stay in the Python process; with the default of 1,000 nearly all of them are fetched for each row.
    "python.state.cache-size": "1000000",
}


class Program:
    """One session of Flink in this process, and the tables of the job."""

    def __init__(self, job: dict[str, Any]) -> None:
        from pyflink.table import (  # type: ignore[import-not-found,unused-ignore]
            EnvironmentSettings,
            TableEnvironment,
        )

        self._queries: dict[str, dict[str, Any]] = job["queries"]
        self._scans: list[dict[str, Any]] = job["scans"]
        self._tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for key, value in {**job["settings"], **(PYTHON_SETTINGS if job["python"] else {})}.items():
            self._tables.get_config().set(key, value)
        if job["python"]:
            self._tables.create_temporary_function("python_avg", _average())
        for statement in job["tables"]:
            self._tables.execute_sql(statement)
        for name, query in self._queries.items():
            self._sink(f"nowhere_{name}", query["columns"])
        for number, scan in enumerate(self._scans):
            self._sink(f"unseen_{number}", scan["columns"])

    def run(self, name: str) -> float:
        """A query once; the seconds from its submission to its end."""
        return self._timed(f"INSERT INTO nowhere_{name} {self._queries[name]['select']}")

    def scan(self) -> float:
        """The sources alone: rows of all of them read and thrown away."""
        together = self._tables.create_statement_set()
        for number, scan in enumerate(self._scans):
            together.add_insert_sql(f"INSERT INTO unseen_{number} {scan['select']}")
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

    def _sink(self, name: str, columns: str) -> None:
        self._tables.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'blackhole')")

    def _timed(self, statement: str) -> float:
        started = time.perf_counter()
        self._tables.execute_sql(statement).wait()
        return time.perf_counter() - started


def _average() -> Any:
    """The average as a Python aggregate of Flink. It is made here, so that it travels by value to Flink's workers."""
    from pyflink.common import Row  # type: ignore[import-not-found,unused-ignore]
    from pyflink.table import AggregateFunction, DataTypes  # type: ignore[import-not-found,unused-ignore]
    from pyflink.table.udf import udaf  # type: ignore[import-not-found,unused-ignore]

    class Average(AggregateFunction):  # type: ignore[misc,unused-ignore]
        def create_accumulator(self) -> Any:
            return Row(0.0, 0)

        def accumulate(self, accumulator: Any, x: float) -> None:
            accumulator[0] += x
            accumulator[1] += 1

        def merge(self, accumulator: Any, others: Any) -> None:
            for other in others:
                accumulator[0] += other[0]
                accumulator[1] += other[1]

        def get_value(self, accumulator: Any) -> float | None:
            return accumulator[0] / accumulator[1] if accumulator[1] else None

        def get_accumulator_type(self) -> Any:
            fields = (DataTypes.FIELD("total", DataTypes.DOUBLE()), DataTypes.FIELD("count", DataTypes.BIGINT()))
            return DataTypes.ROW(list(fields))

        def get_result_type(self) -> Any:
            return DataTypes.DOUBLE()

    return udaf(Average())


def main(job: str) -> int:
    """Answer each line of standard input by one line, until it ends."""
    # Whatever Flink prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(values: dict[str, Any]) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    try:
        program = Program(json.loads(job))
        answer({"ready": True})
        for line in sys.stdin:
            answer(_do(program, json.loads(line)))
    except Exception as problem:
        traceback.print_exc()
        told = [line for line in str(problem).splitlines() if line and not line.startswith("\t")]
        answer({"error": "; ".join(told[:4])})
        return 1
    return 0


def _do(program: Program, request: dict[str, Any]) -> dict[str, Any]:
    kind = request["do"]
    if kind == "results":
        program.results(request["query"], request["folder"])
        return {"done": True}
    if kind == "sums":
        return {"sums": program.sums(request["query"])}
    return {"seconds": program.scan() if kind == "scan" else program.run(request["query"])}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
