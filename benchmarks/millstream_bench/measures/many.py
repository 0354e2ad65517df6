"""`many`: many queries over one stream, that share its reading and that do not, beside one query."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from millstream.mill import Mill, connect

FILTER, WINDOW, MIXED = "filter", "window", "mixed"
KINDS = (FILTER, WINDOW, MIXED)
SHARED, SEPARATE = "shared", "separate"

STREAM = """CREATE STREAM s (ts TIMESTAMP, k INT, v INT, x DOUBLE) ORDER BY ts SLACK 1 SECOND
    SOURCE 'parquet:in' OPTIONS (max_files_per_batch = 2);"""
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Load:
    """So many rows of so many keys, in so many files."""

    rows: int
    keys: int
    files: int


@dataclass(frozen=True)
class Taken:
    """What a run took: in its batches, from the first statement to the last answer, in work and memory."""

    kind: str
    queries: int
    way: str
    rows: int
    busy: float
    seconds: float
    batch: float
    work: float
    memory: int

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        return {
            "bench": "many",
            "kind": self.kind,
            "queries": self.queries,
            "way": self.way,
            "rows_s": round(self.rows / self.busy),
            "batch_s": round(self.batch, 3),
            "seconds": round(self.seconds, 2),
            "cpu_s": round(self.work, 2),
            "memory_mb": self.memory >> 20,
        }


def query(kind: str, number: int) -> str:
    """One of many queries of a kind; no two are the same."""
    low, high = 7 * number % 990, 7 * number % 990 + 3
    windows = f"RANGE {10 + 10 * (number % 30)} SECONDS, SLIDE 10 SECONDS, WA ts"
    if kind == FILTER or (kind == MIXED and number % 2):
        return f"SELECT ts, k, x * {number + 1} AS x FROM s WHERE v >= {low} AND v < {high}"
    if kind == WINDOW:
        return f"SELECT k, sum(x) [{windows}] AS total, count(*) AS n FROM s GROUP BY k"
    return f"SELECT k, avg(x) [{windows}] AS mean FROM s WHERE v % 50 = {number % 50} GROUP BY k"


def measure(
    load: Load, kinds: Sequence[str], counts: Sequence[int], ways: Sequence[str], repeat: int = 1
) -> Iterator[Taken]:
    """Run so many queries of each kind, in each way, over the same files: the median of some runs that take turns."""
    with tempfile.TemporaryDirectory(prefix="millstream-many-") as folder:
        write(Path(folder), load)
        _run(Path(folder), load, FILTER, 1, SHARED)  # Spark is warm then
        for kind in kinds:
            chosen = [(count, way) for count in counts for way in ways]
            for way in ways:
                _run(Path(folder), load, kind, 2, way)  # and so are the steps of these
            runs = [[_run(Path(folder), load, kind, *one) for one in chosen] for _ in range(repeat)]
            for same in zip(*runs, strict=True):
                yield sorted(same, key=lambda run: run.busy)[repeat // 2]


def write(folder: Path, load: Load) -> None:
    """The files: a row each millisecond."""
    (folder / "in").mkdir()
    drawn = np.random.default_rng(1)
    each = load.rows // load.files
    for number in range(load.files):
        stamps = (np.arange(each) + number * each) * 1000 + 1_700_000_000_000_000
        rows = {
            "ts": pa.array(stamps, pa.timestamp("us", tz="UTC")),
            "k": pa.array(drawn.integers(0, load.keys, each), pa.int32()),
            "v": pa.array(drawn.integers(0, 1000, each), pa.int32()),
            "x": pa.array(drawn.random(each)),
        }
        pq.write_table(pa.table(rows), folder / "in" / f"{number:04d}.parquet")


def _run(folder: Path, load: Load, kind: str, count: int, way: str) -> Taken:
    queries = "".join(f"CREATE QUERY q{n} AS {query(kind, n)};" for n in range(count))
    with connect(base=folder, once=True) as mill, _Peak() as peak:
        begun = time.monotonic()
        mill.execute(
            f"SET sharing = {'auto' if way == SHARED else 'off'}; SET results_kept = 10000; {STREAM} {queries}"
        )
        mill.wait()
        seconds = time.monotonic() - begun
        busy, batches = _busy(mill)
    rows = load.rows // load.files * load.files
    return Taken(kind, count, way, rows, busy, seconds, busy / batches, peak.work, peak.bytes)


def _busy(mill: Mill) -> tuple[float, int]:
    """The seconds of batches, and how many there were; of queries that run side by side the longest counts."""
    counts = [query.counts for query in mill.queries]
    most = max(counts, key=lambda one: one.busy_seconds)
    return most.busy_seconds, most.batches


class _Peak:
    """The most memory that this process and its children have while it is open, and their work on the processors."""

    def __init__(self) -> None:
        self.bytes = 0
        self.work = 0.0
        self._done = threading.Event()

    def __enter__(self) -> _Peak:
        self.work = -_work()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.work += _work()
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(LOOK_SECONDS):
            self.bytes = max(self.bytes, sum(map(_resident, _processes())))


def _processes() -> list[psutil.Process]:
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def _work() -> float:
    """The seconds of processors that all of them have taken so far."""
    return sum(map(_worked, _processes()))


def _worked(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
        return float(times.user + times.system)
    except psutil.Error:
        return 0.0


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
