"""A process that hands the rows of several streams over in real time, each stream at a pace of its own."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PASSED = 0.95
"""The share of rows that the filter of each stream lets through, as in [Bai 2008]: those whose `v` is below."""


def produce(root: Path, log: Path, *, rates: Mapping[str, float], every: int) -> None:
    """Write files until the process is ended, each into the folder of its stream; `every` is milliseconds.

    The first row of a stream is due at once, so that something is known of it. The log has a line for each file: when
    it was renamed into place, in microseconds, its stream, and how many of its rows pass the filter.
    """
    random = np.random.default_rng(1)
    begun = time.time()
    sent = dict.fromkeys(rates, 0)
    with log.open("w", encoding="utf-8", buffering=1) as lines:
        number = 0
        while True:
            elapsed = time.time() - begun
            for stream, rate in rates.items():
                count = due(rate, elapsed) - sent[stream]
                if count > 0:
                    values = random.random(count)
                    staged = root / f"{stream}-{number}.parquet"
                    pq.write_table(pa.table({"v": values}), staged)
                    staged.rename(root / stream / f"part-{number:08d}.parquet")
                    sent[stream] += count
                    said = {"handed": time.time_ns() // 1000, "stream": stream, "passed": int((values < PASSED).sum())}
                    lines.write(json.dumps(said) + "\n")
            number += 1
            time.sleep(max(0.0, begun + number * every / 1000 - time.time()))


def due(rate: float, elapsed: float) -> int:
    """How many rows there must have been so many seconds after the start.

    >>> [due(0.5, seconds) for seconds in (0.0, 1.9, 2.0, 5.0)]
    [1, 1, 2, 3]
    """
    return 1 + int(rate * elapsed)


def main(options: str) -> None:
    """Produce with options in JSON; a SIGTERM ends it without a word."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    values = json.loads(options)
    produce(Path(values["root"]), Path(values["log"]), rates=values["rates"], every=values["every"])


if __name__ == "__main__":
    main(*sys.argv[1:])
