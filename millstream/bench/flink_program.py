"""Runs in Flink's own Python, which has no Millstream: one Flink SQL job, asked for by lines of JSON.

The job: `python flink_program.py '{"source": "csv", ...}'`. Requests: {"do": "run"}, {"do": "scan"} (the source alone)
and {"do": "results", "folder": ...}; each is answered by one line.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

RESULTS = {
    "built-in": "k INT, window_end TIMESTAMP(3), n BIGINT, high DOUBLE, total DOUBLE",
    "python": "k INT, window_end TIMESTAMP(3), answer DOUBLE",
}
"""The columns of the results, by the kind of the aggregates."""

FOR_PYTHON = {
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

        self._job = job
        self._tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        settings = {
            "parallelism.default": str(job["cores"]),
            "taskmanager.numberOfTaskSlots": str(job["cores"]),
            "table.local-time-zone": "UTC",
            # What Flink's own guide to tuning says for aggregates: gather rows, and reduce before the shuffle.
            "table.exec.mini-batch.enabled": "true",
            "table.exec.mini-batch.allow-latency": "1 s",
            "table.exec.mini-batch.size": "50000",
            "table.optimizer.agg-phase-strategy": "TWO_PHASE",
        }
        self._python = job.get("aggregates") == "python"
        result = RESULTS["python" if self._python else "built-in"]
        for key, value in {**settings, **(FOR_PYTHON if self._python else {})}.items():
            self._tables.get_config().set(key, value)
        if self._python:
            self._tables.create_temporary_function("python_avg", _average())
        self._tables.execute_sql(self._generator() if job["source"] == "datagen" else self._files())
        self._tables.execute_sql(f"CREATE TABLE nowhere ({result}) WITH ('connector' = 'blackhole')")
        self._tables.execute_sql(
            "CREATE TABLE unseen (k INT, v DOUBLE, ts TIMESTAMP_LTZ(3)) WITH ('connector' = 'blackhole')"
        )

    def run(self) -> float:
        """The job once; the seconds from its submission to its end."""
        return self._timed(f"INSERT INTO nowhere {self._select()}")

    def scan(self) -> float:
        """The source alone: every row read and thrown away."""
        return self._timed("INSERT INTO unseen SELECT k, v, ts FROM ticks")

    def results(self, folder: str) -> None:
        """The job once more, its rows kept as CSV."""
        self._tables.execute_sql(
            f"CREATE TEMPORARY TABLE kept ({RESULTS['python' if self._python else 'built-in']}) "
            f"WITH ('connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'csv')"
        )
        self._timed(f"INSERT INTO kept {self._select()}")
        self._tables.execute_sql("DROP TEMPORARY TABLE kept")

    def _timed(self, statement: str) -> float:
        started = time.perf_counter()
        self._tables.execute_sql(statement).wait()
        return time.perf_counter() - started

    def _select(self) -> str:
        slide, range_ = (_interval(1000 * self._job[name]) for name in ("slide", "range"))
        if self._python:
            # Over the table function HOP, Flink runs a Python aggregate as one without a window, which answers anew for
            # each row of each window. Only the older grouping by HOP has an operator for it that knows windows.
            return f"""
                SELECT k, CAST(HOP_END(ts, {slide}, {range_}) AS TIMESTAMP(3)), python_avg(v)
                FROM ticks GROUP BY k, HOP(ts, {slide}, {range_})
            """
        return f"""
            SELECT k, window_end, COUNT(*), MAX(v), SUM(v)
            FROM TABLE(HOP(TABLE ticks, DESCRIPTOR(ts), {slide}, {range_}))
            GROUP BY k, window_start, window_end
        """

    def _files(self) -> str:
        return f"""
            CREATE TABLE ticks (micros BIGINT, k INT, v DOUBLE, ts AS TO_TIMESTAMP_LTZ(micros / 1000, 3),
              {self._watermark()})
            WITH ('connector' = 'filesystem', 'path' = 'file://{self._job["data"]}', 'format' = 'csv')
        """

    def _generator(self) -> str:
        job = self._job
        millis = f"{job['start'] // 1000} + CAST(number * 1000 / {job['rate']} AS BIGINT)"
        return f"""
            CREATE TABLE ticks (number BIGINT, k AS CAST(RAND_INTEGER({job["keys"]}) AS INT), v AS RAND(),
              ts AS TO_TIMESTAMP_LTZ({millis} - RAND_INTEGER({job["disorder"] + 1}), 3), {self._watermark()})
            WITH ('connector' = 'datagen', 'number-of-rows' = '{job["rows"]}', 'rows-per-second' = '1000000000',
              'fields.number.kind' = 'sequence', 'fields.number.start' = '0', 'fields.number.end' = '{job["rows"] - 1}')
        """

    def _watermark(self) -> str:
        return f"WATERMARK FOR ts AS ts - {_interval(self._job['disorder'] + 1)}"


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


def _interval(millis: int) -> str:
    seconds, millis = divmod(millis, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"INTERVAL '{days} {hours:02d}:{minutes:02d}:{seconds:02d}.{millis:03d}' DAY TO SECOND(3)"


def main(job: str) -> int:
    """Serve until standard input ends."""
    from flink_serving import one_job, serve  # type: ignore[import-not-found,unused-ignore]

    return int(serve(lambda: one_job(Program(json.loads(job)))))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
