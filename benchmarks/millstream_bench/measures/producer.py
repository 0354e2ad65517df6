"""A process that hands rows over in real time: each file holds the rows of the last moment, stamped with the clock."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_TIME = pa.timestamp("us", tz="UTC")


def produce(folder: Path, log: Path, *, rate: int, keys: int, disorder: int, every: int) -> None:
    """Write files until the process is ended; `disorder` and `every` are milliseconds.

    The log has a line for each file: when it was renamed into place, and its newest time stamp, in microseconds.
    """
    random = np.random.default_rng(1)
    count = max(1, rate * every // 1000)
    begun = time.time()
    with log.open("w", encoding="utf-8", buffering=1) as lines:
        number = 0
        while True:
            number += 1
            due = begun + number * every / 1000
            time.sleep(max(0.0, due - time.time()))
            staged = folder.parent / f"{folder.name}-{number}.parquet"
            rows = _moment(random, due, count=count, keys=keys, disorder=disorder, every=every)
            pq.write_table(rows, staged)
            newest = int(rows["ts"].cast(pa.int64()).to_numpy().max())
            staged.rename(folder / f"part-{number:08d}.parquet")
            lines.write(json.dumps({"handed": _micros(time.time()), "newest": newest}) + "\n")


def _moment(random: np.random.Generator, until: float, *, count: int, keys: int, disorder: int, every: int) -> pa.Table:
    times = _micros(until) - every * 1000 * np.arange(count - 1, -1, -1) // count
    late = random.integers(0, disorder * 1000 + 1, count)
    return pa.table(
        {
            "ts": pa.array(times - late, pa.int64()).cast(_TIME),
            "k": pa.array(random.integers(0, keys, count, dtype=np.int32)),
            "v": pa.array(random.random(count)),
        }
    )


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)


def main(options: str) -> None:
    """Produce with options in JSON; a SIGTERM ends it without a word."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    values: dict[str, Any] = json.loads(options)
    produce(Path(values.pop("folder")), Path(values.pop("log")), **values)


if __name__ == "__main__":
    main(*sys.argv[1:])
