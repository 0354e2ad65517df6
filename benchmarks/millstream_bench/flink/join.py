"""The join of two streams for Flink SQL: an interval join."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from millstream_bench.data.csv_parts import csv_parts
from millstream_bench.data.pairs import SIDES
from millstream_bench.flink.job import FlinkJob, FlinkQuery
from millstream_bench.flink.one_query import NAME, OneQuery
from millstream_bench.flink.statements import TICK_COLUMNS, file_table, generator_table, interval
from millstream_bench.harness.workload import Setting

FIELDS = pa.schema([("k", pa.int32()), ("v", pa.float64()), ("w", pa.float64())])


def flink_join(setting: Setting, source: str, check: Callable[[Path, Setting], None] | None = None) -> OneQuery:
    """The workload in a session of Flink, over files or over rows that it makes up."""
    options = setting.options
    slack = options["slack"]
    if source == "csv":
        folders = {side: str(csv_parts(Path(setting.data) / side, setting.cores, "us")) for side in SIDES}
        tables = [file_table(side, folder, slack) for side, folder in folders.items()]
    else:
        tables = [generator_table(side, options["rows_per_side"], slack, options) for side in SIDES]
    return OneQuery(setting, source, job(tuple(tables), options["low"], options["high"]), FIELDS, check)


def job(tables: tuple[str, ...], low: int, high: int) -> FlinkJob:
    """The job over tables `a` and `b`; the bounds are seconds."""
    query = FlinkQuery(
        "k INT, v DOUBLE, w DOUBLE",
        f"""
            SELECT a.k, a.v, b.v FROM a JOIN b
            ON a.k = b.k AND b.ts BETWEEN a.ts - {interval(1000 * low)} AND a.ts + {interval(1000 * high)}
        """,
    )
    scan = FlinkQuery(TICK_COLUMNS, "SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM b")
    return FlinkJob(tables, {NAME: query}, (scan,))
