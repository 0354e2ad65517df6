"""Aggregates per key in a sliding window for Flink SQL: count, max and sum, built in, or one in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pyarrow as pa

from millstream_bench.data.csv_parts import csv_parts
from millstream_bench.flink.job import FlinkJob, FlinkQuery
from millstream_bench.flink.one_query import NAME, OneQuery
from millstream_bench.flink.statements import TICK_COLUMNS, file_table, generator_table, interval
from millstream_bench.harness.workload import Setting

Aggregates = Literal["built-in", "python"]

SETTINGS = {
    # What Flink's own guide to tuning says for aggregates: gather rows, and reduce before the shuffle.
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
}
_GROUP = (("k", pa.int32()), ("window_end", pa.timestamp("us")))
FIELDS: dict[Aggregates, pa.Schema] = {
    "built-in": pa.schema([*_GROUP, ("n", pa.int64()), ("high", pa.float64()), ("total", pa.float64())]),
    "python": pa.schema([*_GROUP, ("answer", pa.float64())]),
}


def flink_sliding(setting: Setting, source: str, aggregates: Aggregates = "built-in") -> OneQuery:
    """The workload in a session of Flink, over files or over rows that it makes up."""
    options = setting.options
    slack = options["disorder"] + 1
    if source == "csv":
        table = file_table("ticks", str(csv_parts(Path(setting.data), setting.cores, "us")), slack)
    else:
        table = generator_table("ticks", options["rows"], slack, options)
    return OneQuery(setting, source, job(table, options["range"], options["slide"], aggregates), FIELDS[aggregates])


def job(table: str, range_: int, slide: int, aggregates: Aggregates) -> FlinkJob:
    """The job over a table `ticks`; range and slide are seconds."""
    query = _python(range_, slide) if aggregates == "python" else _built_in(range_, slide)
    scan = FlinkQuery(TICK_COLUMNS, "SELECT k, v, ts FROM ticks")
    return FlinkJob((table,), {NAME: query}, (scan,), SETTINGS, python=aggregates == "python")


def _built_in(range_: int, slide: int) -> FlinkQuery:
    return FlinkQuery(
        "k INT, window_end TIMESTAMP(3), n BIGINT, high DOUBLE, total DOUBLE",
        f"""
            SELECT k, window_end, COUNT(*), MAX(v), SUM(v)
            FROM TABLE(HOP(TABLE ticks, DESCRIPTOR(ts), {interval(1000 * slide)}, {interval(1000 * range_)}))
            GROUP BY k, window_start, window_end
        """,
    )


def _python(range_: int, slide: int) -> FlinkQuery:
    # Over the table function HOP, Flink runs a Python aggregate as one without a window, which answers anew for each
    # row of each window. Only the older grouping by HOP has an operator for it that knows windows.
    window = f"{interval(1000 * slide)}, {interval(1000 * range_)}"
    return FlinkQuery(
        "k INT, window_end TIMESTAMP(3), answer DOUBLE",
        f"""
            SELECT k, CAST(HOP_END(ts, {window}) AS TIMESTAMP(3)), python_avg(v)
            FROM ticks GROUP BY k, HOP(ts, {window})
        """,
    )
