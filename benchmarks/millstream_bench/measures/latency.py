"""`latency`: how long a result takes to reach a sink, from the moment its window's end became known.

A producer writes small files in real time, stamped with the clock; a window query runs all the while and appends to a
CSV file. A window is covered by the first file that holds a time stamp at or after its end plus the slack. Its latency
runs from the moment that file is in place to the moment the last of its rows can be read in the sink.
"""

from __future__ import annotations

import bisect
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millstream.errors import RunError

POLL_SECONDS = 0.002
FIRST_SECONDS = 120.0
"""How long the first result is waited for: Spark starts its workers for it. The warm-up begins there."""
DRAIN_SECONDS = 3.0
"""How long the last windows are waited for; they are left out if they do not come."""


@dataclass(frozen=True)
class Shape:
    """The load and the query; `disorder` and `every` are milliseconds, the rest seconds."""

    rate: int
    keys: int
    range: int
    slide: int
    disorder: int
    every: int
    seconds: int
    warm_up: int

    @property
    def slack(self) -> int:
        """The slack of the stream, in milliseconds."""
        return self.disorder + 1


@dataclass(frozen=True)
class Latencies:
    """What was found: seconds of each window after the warm-up, and Spark's own account of its batches."""

    shape: Shape
    seconds: tuple[float, ...]
    after_end: tuple[float, ...]
    from_batch: tuple[float, ...]
    batches: int
    batch_millis: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        return {
            "bench": "latency",
            **{name: getattr(self.shape, name) for name in ("rate", "keys", "range", "slide", "disorder", "every")},
            "windows": len(self.seconds),
            "median_s": round(statistics.median(self.seconds), 3),
            "p95_s": round(quantile(self.seconds, 0.95), 3),
            "max_s": round(max(self.seconds), 3),
            "median_from_batch_s": round(statistics.median(self.from_batch), 3),
            "median_after_window_end_s": round(statistics.median(self.after_end), 3),
            "batches": self.batches,
            "median_batch_ms": dict(self.batch_millis),
            "seconds": [round(s, 3) for s in self.seconds],
        }


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them do not exceed.

    >>> quantile([3.0, 1.0, 2.0, 4.0], 0.5), quantile([1.0, 2.0], 0.95)
    (2.0, 2.0)
    """
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def measure(shape: Shape, say: Callable[[str], None]) -> Latencies:
    """Run the query and the producer side by side."""
    from millstream import connect

    with tempfile.TemporaryDirectory(prefix="bench-latency-") as place:
        root = Path(place)
        (root / "in").mkdir()
        conf = {"spark.sql.streaming.numRecentProgressUpdates": "100000"}
        with connect(root / "checkpoint", base=root, conf=conf) as mill:
            mill.execute(_script(shape))
            say(f"latency: {shape.rate:,} rows/s, {shape.warm_up} s of warm-up, then {shape.seconds} s")
            with _producer(shape, root) as producer:
                seen = _watch(root / "results.csv", shape.warm_up + shape.seconds, producer)
                progress = [p for q in mill.spark.streams.active for p in q.recentProgress]
        files = [json.loads(line) for line in (root / "log").read_text(encoding="utf-8").splitlines()]
    batches = [
        (datetime.fromisoformat(p.timestamp).timestamp(), p.durationMs) for p in progress if "addBatch" in p.durationMs
    ]
    return _account(shape, files, seen, batches)


def _script(shape: Shape) -> str:
    return f"""
        CREATE STREAM ticks (ts TIMESTAMP, k INT, v DOUBLE)
          ORDER BY ts SLACK {shape.slack} MILLISECONDS SOURCE 'parquet:in';
        CREATE SINK results TO 'csv:results.csv' OPTIONS (header = 'false');
        INSERT INTO results
          SELECT window_end, k, count(*) [RANGE {shape.range} SECONDS, SLIDE {shape.slide} SECONDS, WA ts] AS n,
                 max(v) AS high, sum(v) AS total
          FROM ticks GROUP BY k;
    """


class _producer:  # noqa: N801  (a verb in the place where it is used)
    """The producer's process, for a block."""

    def __init__(self, shape: Shape, root: Path) -> None:
        options = {
            "folder": str(root / "in"),
            "log": str(root / "log"),
            "rate": shape.rate,
            "keys": shape.keys,
            "disorder": shape.disorder,
            "every": shape.every,
        }
        self._command = [sys.executable, "-m", "millstream_bench.measures.producer", json.dumps(options)]

    def __enter__(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(self._command)
        return self._process

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


def _watch(sink: Path, seconds: float, producer: subprocess.Popen[bytes]) -> dict[int, float]:
    """For each window end, in microseconds, the clock when the last of its rows could be read."""
    seen: dict[int, float] = {}
    known: dict[bytes, int] = {}
    rest = b""
    position = 0
    finish = time.time() + FIRST_SECONDS
    while (now := time.time()) < finish + DRAIN_SECONDS:
        if now >= finish:
            producer.terminate()
        elif producer.poll() is not None:
            raise RunError("the producer of bench latency ended before its time")
        if sink.exists() and sink.stat().st_size > position:
            with sink.open("rb") as file:
                file.seek(position)
                read = file.read()
            now = time.time()
            finish = finish if seen else now + seconds
            position += len(read)
            *lines, rest = (rest + read).split(b"\n")
            for stamp in {line.partition(b",")[0] for line in lines}:
                if stamp not in known:
                    known[stamp] = _micros(stamp)
                seen[known[stamp]] = now
        time.sleep(POLL_SECONDS)
    return seen


def _micros(stamp: bytes) -> int:
    moment = datetime.fromisoformat(stamp.decode().strip('"')).replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def _account(
    shape: Shape, files: list[dict[str, int]], seen: dict[int, float], batches: list[tuple[float, dict[str, int]]]
) -> Latencies:
    newest: list[int] = []
    for file in files:  # a file may be older than the one before it: then it covers nothing new
        newest.append(max(file["newest"], newest[-1] if newest else file["newest"]))
    measured = []
    first = min(seen.values(), default=0) + shape.warm_up
    for end, at in sorted(seen.items()):
        covering = bisect.bisect_left(newest, end + shape.slack * 1000)
        if end >= first * 1e6 and covering < len(files):
            # The batch that carried the time stamp is the last one that had begun when the result could be read.
            begun = max((b for b, _ in batches if b <= at), default=at)
            measured.append((at - files[covering]["handed"] / 1e6, at - end / 1e6, at - begun))
    if not measured:
        raise RunError("bench latency saw no result after its warm-up\nhelp: give it more --seconds")
    late = [millis for begun, millis in batches if begun >= first]
    names = sorted({name for batch in late for name in batch})
    return Latencies(
        shape,
        tuple(handed for handed, _, _ in measured),
        tuple(ended for _, ended, _ in measured),
        tuple(begun for _, _, begun in measured),
        len(late),
        {name: statistics.median(batch.get(name, 0) for batch in late) for name in names},
    )
