"""`idle`: how long answers wait for a stream that is nearly silent, by the kind of heartbeats it is given.

The experiment behind [Bai 2008, figures 5 to 8]: a fast and a slow stream, a filter on
each, and their union. Both are stamped on arrival, so that the slow one can be asked how far it has come at any time
and no IDLE AFTER has a part in the figures. The union is counted in windows, or given in the order of time.
"""

from __future__ import annotations

import bisect
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from millstream.errors import RunError
from millstream_bench.measures.idle_producer import PASSED
from millstream_bench.measures.latency import FIRST_SECONDS, POLL_SECONDS, quantile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

FAST, SLOW = "fast", "slow"

COUNT, MERGE = "count", "merge"
QUERIES = {
    COUNT: "SELECT window_end, count(*) [RANGE {window} SECONDS, WA t] AS n FROM ({fast} UNION ALL {slow}) AS u",
    MERGE: "{fast} MERGE ORDERED {slow}",
}
"""What is asked of the two filtered streams. The second is the union of [Bai 2008], which keeps the order."""


@dataclass(frozen=True)
class Shape:
    """The load and the query: rates in rows a second, `every` in milliseconds, the rest in seconds."""

    fast: float
    slow: float
    window: int
    seconds: int
    warm_up: int
    query: str = COUNT
    every: int = 100


class Batch(NamedTuple):
    """A micro-batch: when it began, and the rows that it read of the fast stream and of the control stream."""

    begun: float
    fast: int
    marks: int


class Answer(NamedTuple):
    """Answers of one moment, the end of a window or a time stamp: how many, over how many tuples, and when read."""

    moment: float
    lines: int
    tuples: int
    at: float


class Arrival(NamedTuple):
    """A file: when it was in place, and its tuples that pass the filter."""

    at: float
    tuples: int


@dataclass(frozen=True)
class Run:
    """What was seen of a run: everything from its start, and between which times it counts."""

    since: float
    until: float
    arrivals: Sequence[Arrival]
    answers: Sequence[Answer]
    batches: Sequence[Batch]


@dataclass(frozen=True)
class Waiting:
    """What one kind of heartbeats comes to."""

    shape: Shape
    heartbeats: str
    answers: int
    mean_delay: float | None
    p99_delay: float | None
    idle_share: float
    peak_tuples: int
    peak_moments: int
    largest_burst: int
    batches: int
    marks: int

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        shape = {name: getattr(self.shape, name) for name in ("query", "fast", "slow", "window", "seconds")}
        return {
            "bench": "idle",
            **shape,
            "heartbeats": self.heartbeats,
            "answers": self.answers,
            "mean_delay_s": None if self.mean_delay is None else round(self.mean_delay, 3),
            "p99_delay_s": None if self.p99_delay is None else round(self.p99_delay, 3),
            "idle_share": round(self.idle_share, 3),
            "peak_tuples": self.peak_tuples,
            "peak_moments": self.peak_moments,
            "largest_burst": self.largest_burst,
            "batches": self.batches,
            "marks": self.marks,
        }


def measure(shape: Shape, kinds: Sequence[str], say: Callable[[str], None]) -> Iterator[Waiting]:
    """Each kind of heartbeats in turn, in a mill of its own."""
    if shape.warm_up:
        say(f"idle: {shape.query}, a run that does not count")  # or the first kind would pay for a cold JVM
        observe(replace(shape, seconds=0), kinds[-1])
    for kind in kinds:
        say(f"idle: {shape.query}, heartbeats {kind}: {shape.warm_up} s of warm-up, then {shape.seconds} s")
        yield account(shape, kind, observe(shape, kind))


# -- a run -----------------------------------------------------------------------------------------------------


def observe(shape: Shape, kind: str) -> Run:
    """Run the query and the producer side by side."""
    from millstream import connect

    with tempfile.TemporaryDirectory(prefix="bench-idle-") as place:
        root = Path(place)
        for stream in (FAST, SLOW):
            (root / stream).mkdir()
        conf = {"spark.sql.streaming.numRecentProgressUpdates": "100000"}
        with connect(root / "checkpoint", base=root, conf=conf) as mill:
            mill.execute(script(shape, kind))
            with _producer(shape, root) as producer:
                _await_batch(mill.spark, producer)
                since = time.time() + shape.warm_up
                until = since + shape.seconds
                read = _watch(root / "results.csv", until, producer)
                _await_batch(mill.spark, producer)  # the one that was under way may have answered
                batches = _batches(mill.spark)
        files = [json.loads(line) for line in (root / "log").read_text(encoding="utf-8").splitlines()]
    arrivals = [Arrival(file["handed"] / 1e6, file["passed"]) for file in files]
    return Run(since, until, arrivals, answers(shape.query, read), batches)


def script(shape: Shape, kind: str) -> str:
    """The streams, the sink and the query."""
    streams = "".join(
        f"CREATE STREAM {name} (v DOUBLE, current_time TIMESTAMP) ORDER BY current_time SOURCE 'parquet:{name}';"
        for name in (FAST, SLOW)
    )
    parts = {name: f"SELECT current_time AS t, v FROM {name} WHERE v < {PASSED}" for name in (FAST, SLOW)}
    return f"""
        SET heartbeats = '{kind}';
        {streams}
        CREATE SINK results TO 'csv:results.csv' OPTIONS (header = 'false');
        INSERT INTO results {QUERIES[shape.query].format(window=shape.window, **parts)};
    """


@contextmanager
def _producer(shape: Shape, root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The producer's process, for a block."""
    rates = {SLOW: shape.slow, FAST: shape.fast}  # the slow one first, so that a first batch knows of both
    options = {"root": str(root), "log": str(root / "log"), "rates": rates, "every": shape.every}
    process = subprocess.Popen([sys.executable, "-m", "millstream_bench.measures.idle_producer", json.dumps(options)])
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _await_batch(spark: SparkSession, producer: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a micro-batch. For the first one Spark starts its workers, which takes long."""
    known = len(_batches(spark))
    finish = time.time() + FIRST_SECONDS
    while len(_batches(spark)) == known:
        _require(producer)
        if time.time() > finish:
            raise RunError(f"bench idle saw no micro-batch within {FIRST_SECONDS:.0f} s")
        time.sleep(0.1)


def _watch(sink: Path, until: float, producer: subprocess.Popen[bytes]) -> list[tuple[float, bytes]]:
    """The lines of the sink, each with the time when it could be read."""
    read: list[tuple[float, bytes]] = []
    rest = b""
    position = 0
    while time.time() < until:
        _require(producer)
        if sink.exists() and sink.stat().st_size > position:
            with sink.open("rb") as file:
                file.seek(position)
                more = file.read()
            now = time.time()
            position += len(more)
            *lines, rest = (rest + more).split(b"\n")
            read += [(now, line) for line in lines]
        time.sleep(POLL_SECONDS)
    return read


def _require(producer: subprocess.Popen[bytes]) -> None:
    if producer.poll() is not None:
        raise RunError("the producer of bench idle ended before its time")


def _batches(spark: SparkSession) -> list[Batch]:
    """The micro-batches that have ended, as Spark tells of them."""
    return [
        Batch(
            datetime.fromisoformat(progress.timestamp).timestamp(),
            sum(s.numInputRows for s in progress.sources if s.description.endswith(f"/{FAST}]")),
            sum(s.numInputRows for s in progress.sources if s.description.endswith("/control]")),
        )
        for query in spark.streams.active
        for progress in query.recentProgress
        if "addBatch" in progress.durationMs
    ]


def answers(query: str, read: Iterable[tuple[float, bytes]]) -> list[Answer]:
    """The lines of a sink, those of one moment together.

    >>> answers("count", [(12.5, b"1970-01-01T00:00:12,7")])
    [Answer(moment=12.0, lines=1, tuples=7, at=12.5)]
    >>> answers("merge", [(12.5, b"1970-01-01T00:00:12.25,0.1"), (12.5, b"1970-01-01T00:00:12.25,0.2")])
    [Answer(moment=12.25, lines=2, tuples=2, at=12.5)]
    """
    lines: Counter[tuple[bytes, float]] = Counter()
    tuples: Counter[tuple[bytes, float]] = Counter()
    for at, line in read:
        stamp, _, value = line.partition(b",")
        lines[stamp, at] += 1
        tuples[stamp, at] += int(value) if query == COUNT else 1
    return [Answer(_seconds(stamp), n, tuples[stamp, at], at) for (stamp, at), n in lines.items()]


def _seconds(stamp: bytes) -> float:
    return datetime.fromisoformat(stamp.decode().strip('"')).replace(tzinfo=UTC).timestamp()


# -- its account -----------------------------------------------------------------------------------------------


def account(shape: Shape, kind: str, run: Run) -> Waiting:
    """The figures of what was read in the time that counts; where nothing was, there are no delays."""
    begun = sorted(batch.begun for batch in run.batches)
    counted = [a for a in run.answers if run.since <= a.at <= run.until]
    delays = [a.at - a.moment for a in counted for _ in range(a.lines)]
    bursts: Counter[int] = Counter()
    for answer in counted:
        # It came from the last micro-batch that had begun when it could be read.
        bursts[bisect.bisect_right(begun, answer.at)] += answer.lines
    held = _held(shape, run)
    idle = _idle(run, held)
    during = [batch for batch in run.batches if run.since <= batch.begun <= run.until]
    arrived = [(a.at, a.tuples) for a in run.arrivals] + [(a.at, -a.tuples) for a in run.answers]
    moments = [(moment, 1) for moment, _ in held] + [(at, -1) for _, at in held if at is not None]
    return Waiting(
        shape,
        kind,
        len(delays),
        statistics.fmean(delays) if delays else None,
        quantile(delays, 0.99) if delays else None,
        covered(idle, run.since, run.until) / max(run.until - run.since, 1e-9),
        peak(arrived, run.since, run.until),
        peak(moments, run.since, run.until),
        max(bursts.values(), default=0),
        len(during),
        sum(batch.marks for batch in during),
    )


def _held(shape: Shape, run: Run) -> list[tuple[float, float | None]]:
    """All moments that are to be answered, each with the time when its answer could be read, None if it was not.

    Those without an answer are known from the micro-batches: the tuples of one are stamped with its beginning.
    """
    answered = {a.moment: a.at for a in run.answers}
    last = max(answered, default=0.0)
    stamps = [batch.begun for batch in run.batches if batch.fast]
    if shape.query == COUNT:
        stamps = [(stamp // shape.window + 1) * shape.window for stamp in stamps]
    open_ = {stamp for stamp in stamps if stamp > last}
    return sorted([*answered.items(), *((moment, None) for moment in open_)])


def _idle(run: Run, held: Iterable[tuple[float, float | None]]) -> Iterator[tuple[float, float]]:
    """When answers were held back: from the batch by which the fast stream had passed to the one that answered."""
    begun = sorted(batch.begun for batch in run.batches)
    passing = sorted(batch.begun for batch in run.batches if batch.fast)
    for moment, at in held:
        passed = bisect.bisect_right(passing, moment)
        until = run.until if at is None else begun[max(bisect.bisect_right(begun, at) - 1, 0)]
        if passed < len(passing) and passing[passed] < until:
            yield passing[passed], until


def covered(spans: Iterable[tuple[float, float]], since: float, until: float) -> float:
    """How much of a time is in at least one of some spans.

    >>> covered([(0.0, 2.0), (1.0, 3.0), (9.0, 12.0)], 1.0, 10.0)
    3.0
    """
    total, reached = 0.0, since
    for first, last in sorted(spans):
        total += max(0.0, min(last, until) - max(first, reached))
        reached = max(reached, min(last, until))
    return total


def peak(changes: Iterable[tuple[float, int]], since: float, until: float) -> int:
    """The largest sum of changes within a time; those before it count too.

    >>> peak([(0.0, 5), (1.0, -4), (2.0, 2), (3.0, 9)], 0.5, 2.5)
    5
    """
    total, before, largest = 0, 0, None
    for at, change in sorted(changes):
        if at > until:
            break
        total += change
        if at < since:
            before = total
        else:
            largest = max(total, before if largest is None else largest)
    return before if largest is None else largest
