"""Generated data: made once for each size and seed, then kept for the next run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millstream_bench.data.aside import write_aside

NOTES = ("sale", "return", "gift", "transfer", "test")
START_MICROS = 1_767_225_600_000_000
"""2026-01-01: fixed, so that the same seed gives the same rows on every day."""

_TIME = pa.timestamp("us", tz="UTC")


def cache_folder() -> Path:
    """Where data is kept if no folder is asked for."""
    return Path(tempfile.gettempdir()) / "millstream-bench"


def readings(root: Path, *, rows: int, keys: int, seed: int, files: int = 20) -> Path:
    """The folder of so many rows (ts, k, v, note) in Parquet; a millisecond of time lies between two rows."""
    folder = root / f"readings-{rows}-rows-{keys}-keys-{files}-files-seed-{seed}"
    return _once(folder, rows, files, lambda first, last: reading_rows(first, last, keys=keys, seed=seed))


def _once(folder: Path, rows: int, files: int, make: Callable[[int, int], pa.Table]) -> Path:
    """The folder, made now if it is not there yet."""
    if not folder.exists():
        with write_aside(folder) as staging:
            staging.mkdir()
            write_parts(staging, rows, files, make)
    return folder


def write_parts(folder: Path, rows: int, files: int, make: Callable[[int, int], pa.Table]) -> None:
    """Write so many rows to so many Parquet files, which Spark takes in the order of their numbers."""
    bounds = [rows * i // files for i in range(files + 1)]
    for number in range(files):
        file = folder / f"part-{number:05d}.parquet"
        pq.write_table(make(bounds[number], bounds[number + 1]), file)
        os.utime(file, (1e9 + number, 1e9 + number))  # Spark takes files by age


def ticks(root: Path, *, rows: int, keys: int, seed: int, disorder: int, rate: int, files: int = 20) -> Path:
    """The folder of so many rows (ts, k, v), `rate` a second of event time, late by up to `disorder` milliseconds."""
    folder = root / f"ticks-{rows}-rows-{keys}-keys-{rate}-a-second-{disorder}-ms-{files}-files-seed-{seed}"

    def make(first: int, last: int) -> pa.Table:
        return tick_rows(first, last, keys=keys, seed=seed, disorder=disorder, rate=rate)

    return _once(folder, rows, files, make)


def tick_rows(first: int, last: int, *, keys: int, seed: int, disorder: int, rate: int) -> pa.Table:
    """The rows from number `first` up to, not including, `last`; they arrive in this order."""
    random = np.random.default_rng((seed, first))
    count = last - first
    late = random.integers(0, disorder * 1000 + 1, count)
    return pa.table(
        {
            "ts": pa.array(START_MICROS + np.arange(first, last) * 1_000_000 // rate - late, pa.int64()).cast(_TIME),
            "k": pa.array(random.integers(0, keys, count, dtype=np.int32)),
            "v": pa.array(random.random(count)),
        }
    )


def reading_rows(first: int, last: int, *, keys: int, seed: int) -> pa.Table:
    """The rows from number `first` up to, not including, `last`.

    >>> reading_rows(0, 3, keys=10, seed=1) == reading_rows(0, 3, keys=10, seed=1)
    True
    """
    random = np.random.default_rng((seed, first))
    count = last - first
    return pa.table(
        {
            "ts": pa.array(START_MICROS + 1000 * np.arange(first, last), pa.int64()).cast(_TIME),
            "k": pa.array(random.integers(0, keys, count, dtype=np.int32)),
            "v": pa.array(np.round(random.gamma(2.0, 25.0, count), 2)),
            "note": pa.array(np.array(NOTES)[random.integers(0, len(NOTES), count)], pa.string()),
        }
    )
