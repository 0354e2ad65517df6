"""Runs in Flink's own Python, which has no Millstream: one interval join in Flink SQL, asked for by lines of JSON.

The job: `python flink_join_program.py '{"source": "csv", ...}'`. Requests: {"do": "run"}, {"do": "scan"} (the sources
alone) and {"do": "results", "folder": ...}; each is answered by one line.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

RESULT = "k INT, v DOUBLE, w DOUBLE"


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
        }
        for key, value in settings.items():
            self._tables.get_config().set(key, value)
        for side in ("a", "b"):
            self._tables.execute_sql(self._generator(side) if job["source"] == "datagen" else self._files(side))
        self._tables.execute_sql(f"CREATE TABLE nowhere ({RESULT}) WITH ('connector' = 'blackhole')")
        self._tables.execute_sql(
            "CREATE TABLE unseen (k INT, v DOUBLE, ts TIMESTAMP_LTZ(3)) WITH ('connector' = 'blackhole')"
        )

    def run(self) -> float:
        """The job once; the seconds from its submission to its end."""
        return self._timed(f"INSERT INTO nowhere {self._select()}")

    def scan(self) -> float:
        """The sources alone: every row of both read and thrown away."""
        return self._timed("INSERT INTO unseen SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM b")

    def results(self, folder: str) -> None:
        """The job once more, its rows kept as CSV."""
        self._tables.execute_sql(
            f"CREATE TEMPORARY TABLE kept ({RESULT}) "
            f"WITH ('connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'csv')"
        )
        self._timed(f"INSERT INTO kept {self._select()}")
        self._tables.execute_sql("DROP TEMPORARY TABLE kept")

    def _timed(self, statement: str) -> float:
        started = time.perf_counter()
        self._tables.execute_sql(statement).wait()
        return time.perf_counter() - started

    def _select(self) -> str:
        low, high = (_interval(1000 * self._job[name]) for name in ("low", "high"))
        return f"""
            SELECT a.k, a.v, b.v FROM a JOIN b
            ON a.k = b.k AND b.ts BETWEEN a.ts - {low} AND a.ts + {high}
        """

    def _files(self, side: str) -> str:
        return f"""
            CREATE TABLE {side} (micros BIGINT, k INT, v DOUBLE, ts AS TO_TIMESTAMP_LTZ(micros / 1000, 3),
              {self._watermark()})
            WITH ('connector' = 'filesystem', 'path' = 'file://{self._job["data"][side]}', 'format' = 'csv')
        """

    def _generator(self, side: str) -> str:
        job = self._job
        last = job["rows_per_side"] - 1
        millis = f"{job['start'] // 1000} + CAST(number * 1000 / {job['rate']} AS BIGINT)"
        return f"""
            CREATE TABLE {side} (number BIGINT, k AS CAST(RAND_INTEGER({job["keys"]}) AS INT), v AS RAND(),
              ts AS TO_TIMESTAMP_LTZ({millis} - RAND_INTEGER({job["disorder"] + 1}), 3), {self._watermark()})
            WITH ('connector' = 'datagen', 'number-of-rows' = '{last + 1}', 'rows-per-second' = '1000000000',
              'fields.number.kind' = 'sequence', 'fields.number.start' = '0', 'fields.number.end' = '{last}')
        """

    def _watermark(self) -> str:
        return f"WATERMARK FOR ts AS ts - {_interval(self._job['slack'])}"


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
