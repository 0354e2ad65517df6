"""Statements of Flink SQL over ticks: rows (ts, k, v), from files or made up by Flink."""

from __future__ import annotations

from collections.abc import Mapping

from millstream_bench.data.rows import START_MICROS

TICK_COLUMNS = "k INT, v DOUBLE, ts TIMESTAMP_LTZ(3)"


def file_table(name: str, folder: str, slack: int) -> str:
    """A table over a folder of CSV files; times in them are microseconds, and so many milliseconds are waited for."""
    return f"""
        CREATE TABLE {name} (micros BIGINT, k INT, v DOUBLE, ts AS TO_TIMESTAMP_LTZ(micros / 1000, 3),
          {_watermark(slack)})
        WITH ('connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'csv')
    """


def generator_table(name: str, rows: int, slack: int, options: Mapping[str, int]) -> str:
    """A table of so many rows that Flink makes up, with the keys, the rate and the disorder of the options."""
    millis = f"{START_MICROS // 1000} + CAST(number * 1000 / {options['rate']} AS BIGINT)"
    return f"""
        CREATE TABLE {name} (number BIGINT, k AS CAST(RAND_INTEGER({options["keys"]}) AS INT), v AS RAND(),
          ts AS TO_TIMESTAMP_LTZ({millis} - RAND_INTEGER({options["disorder"] + 1}), 3), {_watermark(slack)})
        WITH ('connector' = 'datagen', 'number-of-rows' = '{rows}', 'rows-per-second' = '1000000000',
          'fields.number.kind' = 'sequence', 'fields.number.start' = '0', 'fields.number.end' = '{rows - 1}')
    """


def interval(millis: int) -> str:
    """So many milliseconds as Flink writes them.

    >>> interval(90_061_500)
    "INTERVAL '1 01:01:01.500' DAY TO SECOND(3)"
    """
    seconds, millis = divmod(millis, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"INTERVAL '{days} {hours:02d}:{minutes:02d}:{seconds:02d}.{millis:03d}' DAY TO SECOND(3)"


def _watermark(slack: int) -> str:
    return f"WATERMARK FOR ts AS ts - {interval(slack)}"
