"""`debs --delays`: how long results take, from the arrival of the latest event that they are made of.

A part of a match is handed over in real time, or so many times faster: files of a moment each are renamed into the
folder that the queries follow. A result of a window that ends at `ts` is made of events before that, so the latest of
these came with the file that holds it; a row of a shot is made of the event of its own time. The result is delivered
when its file is in the sink.
"""

from __future__ import annotations

import bisect
import itertools
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from millstream.errors import RunError
from millstream.mill import connect
from millstream_bench.measures.latency import quantile
from millstream_bench.soccer.queries import NAMES, script
from millstream_bench.soccer.write import match

DRAIN_SECONDS = 6.0
MICROS = 1_000_000
Say = Callable[[str], None]


@dataclass(frozen=True)
class Shape:
    """A part of a match: seconds of play, how many times real time, and milliseconds between two files."""

    seconds: int = 60
    speed: float = 1.0
    every: int = 200
    warm_up: int = 20
    seed: int = 1


@dataclass(frozen=True)
class Delays:
    """The delays of the results of one sink, in seconds."""

    sink: str
    seconds: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        return {
            "bench": "debs delays",
            "sink": self.sink,
            "results": len(self.seconds),
            "median_s": round(statistics.median(self.seconds), 3),
            "p95_s": round(quantile(self.seconds, 0.95), 3),
            "max_s": round(max(self.seconds), 3),
        }


def measure(root: Path, shape: Shape, say: Say) -> list[Delays]:
    """The delays of every output of the four queries, which run together."""
    folder = match(root, minutes=max(1.0, (shape.seconds + shape.warm_up) / 30), seed=shape.seed)
    with tempfile.TemporaryDirectory(prefix="bench-debs-") as place:
        here = Path(place)
        for name in ("sensors.parquet", "play.parquet"):
            shutil.copy(folder / name, here / name)
        (here / "events").mkdir()
        files, newest = _cut(folder, here / "staged", shape)
        say(f"debs: {len(files)} files of {shape.every} ms of play, at {shape.speed:g} times real time")
        with connect(base=here, master=f"local[{os.cpu_count() or 1}]") as mill:
            mill.execute(script(here, here / "out", queries=NAMES))
            handed = _hand_over(files, here / "events", shape)
            time.sleep(DRAIN_SECONDS)
            failures = [query.failure for query in mill.queries if query.failure]
            if failures:
                raise RunError(f"a query failed while its delays were measured: {failures[0]}")
        first = handed[0] + shape.warm_up / shape.speed
        found = [_delays(sink, newest, handed, first) for sink in sorted((here / "out").iterdir())]
    measured = [delays for delays in found if delays.seconds]
    if not measured:
        raise RunError("bench debs saw no result after its warm-up\nhelp: give it more --seconds")
    return measured


def _cut(folder: Path, staged: Path, shape: Shape) -> tuple[list[Path], list[int]]:
    """Files of a moment each from the first half on, and the newest time stamp of each in microseconds."""
    staged.mkdir()
    begins = pq.read_table(folder / "halves.parquet")["begins"][0]
    start = begins.cast(pa.timestamp("us", "UTC")).value
    step = shape.every * 1000
    end = start + (shape.seconds + shape.warm_up) * MICROS
    moment = pc.field("time")
    within = (moment >= _stamp(start)) & (moment < _stamp(end))
    events = ds.dataset(folder / "events").to_table(filter=within).sort_by("time")
    times = events["time"].cast(pa.int64()).to_numpy()
    bounds = np.searchsorted(times, np.arange(start, end + step, step))
    files, newest = [], []
    for number, (low, high) in enumerate(itertools.pairwise(bounds)):
        if high > low:
            files.append(staged / f"part-{number:06d}.parquet")
            pq.write_table(events.slice(low, high - low), files[-1])
            newest.append(int(times[high - 1]))
    return files, newest


def _stamp(micros: int) -> pa.Scalar:
    return pa.scalar(micros, pa.timestamp("us", "UTC"))


def _hand_over(files: Sequence[Path], folder: Path, shape: Shape) -> list[float]:
    """Rename each file into the folder when it is due; the clock at each of these moments."""
    handed: list[float] = []
    begun = time.time()
    pause = threading.Event()
    for number, file in enumerate(files, 1):
        pause.wait(max(0.0, begun + number * shape.every / 1000 / shape.speed - time.time()))
        os.utime(file)
        file.rename(folder / file.name)
        handed.append(time.time())
    return handed


def _delays(sink: Path, newest: Sequence[int], handed: Sequence[float], first: float) -> Delays:
    found = []
    for file in sorted(sink.glob("[!._]*.parquet")):
        delivered = file.stat().st_mtime
        name = "ts" if "ts" in pq.read_schema(file).names else "ts_stop"  # of what is told of the running second
        column = pq.read_table(file, columns=[name])[name]
        if pa.types.is_timestamp(column.type):
            latest = pc.unique(column).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy() - 1
        else:
            latest = pc.unique(column).to_numpy() // 1_000_000  # a shot has the picoseconds of its event
        for moment in latest:
            at = bisect.bisect_left(newest, int(moment))
            if at < len(handed) and handed[at] >= first:
                found.append(delivered - handed[at])
    return Delays(sink.name, tuple(found))
