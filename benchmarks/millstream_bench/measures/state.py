"""`state`: how much a window operator keeps. Without Spark: one bucket, driven over twice the range of event time."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from millstream.errors import RunError

STEP_SECONDS = 10
"""How much event time a batch holds."""
SECOND = 1_000_000


@dataclass(frozen=True)
class Shape:
    """A window, the keys in it, and how dense the stream is; times are seconds."""

    range: int
    slide: int
    keys: int
    tuples: int
    """Tuples for each key in each second."""


@dataclass(frozen=True)
class Kept:
    """What an operator kept at the end of a run."""

    shape: Shape
    tuples: int
    window_tuples: int
    panes: int
    blobs: int
    blob_bytes: int
    peak_blob_bytes: int
    rss_growth_bytes: int
    answers: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        values = asdict(self)
        shape = values.pop("shape")
        values.pop("tuples")
        return {
            "bench": "state",
            "range": shape["range"],
            "slide": shape["slide"],
            "keys": shape["keys"],
            "tuples_per_key_and_s": shape["tuples"],
            "tuples": self.tuples,
            **values,
            "seconds": round(self.seconds, 2),
        }


def measure(shape: Shape) -> Kept:
    """Measure in a process of its own, whose memory nobody else uses."""
    done = subprocess.run(
        [sys.executable, "-m", "millstream_bench.measures.state", json.dumps(asdict(shape))],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RunError(f"bench state failed: {done.stderr.strip()}")
    values = json.loads(done.stdout)
    return Kept(**{**values, "shape": shape})


def drive(shape: Shape) -> Kept:
    """Feed an operator twice the range of event time, so that for the second half its windows are full."""
    from millstream.operators.blobs import MemoryBlobs
    from millstream.operators.panes.paned_aggregate import PanedAggregate
    from millstream.operators.panes.partials import partial_states
    from millstream.progress.punctuation import Punctuation

    work = _work(shape)
    blobs = MemoryBlobs()
    operator = PanedAggregate(work, blobs)
    random = np.random.default_rng(1)
    partial_states(work, _rows(shape, random, 0, 1))  # loads what is loaded late, before memory is looked at
    before = psutil.Process().memory_info().rss
    tuples = answers = peak = 0
    started = time.perf_counter()
    for second in range(0, 2 * shape.range, STEP_SECONDS):
        rows = _rows(shape, random, second, min(second + STEP_SECONDS, 2 * shape.range))
        tuples += rows.num_rows
        operator.process(partial_states(work, rows))
        answers += sum(part.num_rows for part in operator.punctuate(Punctuation((second + STEP_SECONDS) * SECOND)))
        answers += sum(part.num_rows for part in operator.end_batch())
        peak = max(peak, _size(blobs.blobs))
    return Kept(
        shape,
        tuples,
        shape.keys * shape.tuples * shape.range,
        shape.range * SECOND // work.window.pane,
        len(blobs.blobs),
        _size(blobs.blobs),
        peak,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
        answers,
        time.perf_counter() - started,
    )


def _work(shape: Shape) -> Any:
    from millstream.aggregates.registry import find
    from millstream.operators.window_aggregate_job import Call, WindowAggregateJob
    from millstream.windows.sliding import Sliding

    def call(name: str, *columns: str) -> Call:
        aggregate = find(name)
        if aggregate is None:
            raise RunError(f"no aggregate {name}")
        return Call(aggregate([pa.float64() for _ in columns]), columns, names=(f"{name}_answer",))

    calls = (call("count_star"), call("max", "v"), call("sum", "v"))
    return WindowAggregateJob((("k", pa.int32()),), calls, Sliding(shape.range * SECOND, shape.slide * SECOND))


def _rows(shape: Shape, random: np.random.Generator, first: int, last: int) -> pa.Table:
    """Every key so many times in each second, in the order of time."""
    from millstream.operators.window_aggregate_job import TIME

    each = shape.keys * shape.tuples
    count = each * (last - first)
    times = first * SECOND + np.arange(count) * SECOND // each
    return pa.table({TIME: times, "k": np.arange(count, dtype=np.int32) % shape.keys, "v": random.random(count)})


def _size(blobs: dict[str, bytes]) -> int:
    return sum(len(name) + len(blob) for name, blob in blobs.items())


if __name__ == "__main__":
    print(json.dumps(asdict(drive(Shape(**json.loads(sys.argv[1]))))))  # noqa: T201
