"""Counts of a running query, from Spark's progress events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from millstream.spark.metrics import ARRIVALS, HEARD, LATE, NEWEST, PASSED, READ, REJECTED, STAGE, STEP, WAITS, WORK
from millstream.spark.process.close_leaks import leave
from millstream.spark.process.jvm import connection_of_thread
from millstream.spark.run.clock import Appointment
from millstream.spark.run.query_events import QueryEvents, SparkEvent
from millstream.spark.run.step_counts import StepCounts
from millstream.spark.stage.bucket_work import BucketWork

PHASES = {
    "latestOffset": "looking for input",
    "getBatch": "looking for input",
    "queryPlanning": "planning",
    "addBatch": "work and sinks",
    "walCommit": "checkpoint",
    "commitBatch": "checkpoint",
    "commitOffsets": "checkpoint",
}
"""The phases of a micro-batch, in Spark's words and in ours."""


class Leap(NamedTuple):
    """A time stamp that moved a stream, and by how many microseconds; None for the first batch."""

    to: int
    by: int | None


@dataclass
class Counts:
    """The totals of one query since it was started, and whether Spark has said its last word on it.

    `beyond` are those of the rejected rows whose time stamps were out of bounds, and `phases` the seconds that went
    into each of PHASES. `waits` is, for each stage, the event time that must come before it answers more. `heard` is
    the clock when a stream last brought tuples, `passed` how far the inputs of each stage have come, `waiting_since`
    the clock when a stage began to wait for what it waits for. `work` is what each bucket of a stage has done, and
    `steps` what the steps of the plan have. `newest` is the newest time stamp of each stream, `newest_before`
    that which earlier runs have seen, and `leaps` by how much one has moved its time most in a batch after the first,
    and to where. `let_go` is done at the end, and `caller` is the connection through which the query calls Python until
    then.
    """

    batches: int = 0
    last_batch: int = -1
    rows_in: int = 0
    rows_out: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    beyond: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    busy_seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    waits: dict[str, int | None] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    newest_before: dict[str, int] = field(default_factory=dict)
    leaps: dict[str, Leap] = field(default_factory=dict)
    passed: dict[str, dict[str, int | None]] = field(default_factory=dict)
    waiting_since: dict[str, tuple[int, float]] = field(default_factory=dict)
    work: dict[str, dict[int, BucketWork]] = field(default_factory=dict)
    steps: StepCounts = field(default_factory=StepCounts)
    ended: threading.Event = field(default_factory=threading.Event)
    ended_at: datetime | None = None
    is_over: bool = False
    let_go: Callable[[], None] = field(default=lambda: None)
    caller: Any = None
    _watchers: list[tuple[Callable[[], None], Appointment]] = field(default_factory=list)
    _counting: threading.Lock = field(default_factory=threading.Lock)

    @property
    def rows_per_second(self) -> float:
        """Rows read per second of work."""
        return self.rows_in / self.busy_seconds if self.busy_seconds else 0.0

    def newest_of(self, stream: str) -> int | None:
        """The newest time stamp of a stream that the query has seen in this process."""
        seen = (self.newest.get(stream), self.newest_before.get(stream))
        return max((time_ for time_ in seen if time_ is not None), default=None)

    def tell(self, changed: Callable[[], None], appointment: Appointment) -> None:
        """Tell somebody of each batch, until the query ends and with it the appointment; the first time at once."""
        self._watchers.append((changed, appointment))
        if self.is_over:
            appointment.cancel()
        else:
            changed()

    def add(self, progress: SparkEvent) -> None:
        """Count one micro-batch, unless it is counted already; Spark also reports while it has nothing to do."""
        self._add(progress)
        for changed, _ in list(self._watchers):
            changed()

    def _add(self, progress: SparkEvent) -> None:
        with self._counting:
            if progress["batchId"] <= self.last_batch or "addBatch" not in progress["durationMs"]:
                return
            self.last_batch = progress["batchId"]
            self.batches += 1
            # Marks of the control stream are not rows of the user's.
            self.rows_in += sum(s["numInputRows"] for s in progress["sources"] if "/control]" not in s["description"])
            self.busy_seconds += progress["durationMs"].get("triggerExecution", 0) / 1000
            for phase, milliseconds in progress["durationMs"].items():
                name = PHASES.get(phase)
                if name is not None:
                    self.phases[name] = self.phases.get(name, 0.0) + milliseconds / 1000
            for name, metrics in progress.get("observedMetrics", {}).items():
                if name.startswith(ARRIVALS):
                    stream = name.removeprefix(ARRIVALS)
                    self._add_rejected(stream, int(metrics["rejected"]), int(metrics.get("beyond") or 0))
                elif name.startswith(STEP):
                    self.steps.add_step(name, metrics)
                elif name.startswith(READ):
                    self.steps.add_read(name, metrics)
                    self.rows_in += int(metrics["rows"] or 0) - int(metrics["files"] or 0)
                    if bad := int(metrics.get("bad") or 0):
                        self._add_rejected(name.removeprefix(READ).split(".", 2)[2], bad, 0)
                elif name.startswith(STAGE):
                    self._add_stage(name.removeprefix(STAGE), metrics, _batch_start(progress["timestamp"]))

    def go_on_from(self, earlier: Counts) -> None:
        """Count on from where an earlier run of the query came to."""
        with self._counting:
            self.batches += earlier.batches
            self.rows_in += earlier.rows_in
            self.rows_out += earlier.rows_out
            self.busy_seconds += earlier.busy_seconds
            self.steps.go_on_from(earlier.steps)
            for seen in (earlier.newest_before, earlier.newest):
                for stream, time_ in seen.items():
                    self.newest_before[stream] = max(time_, self.newest_before.get(stream, time_))
            for name, seconds in earlier.phases.items():
                self.phases[name] = self.phases.get(name, 0.0) + seconds
            for mine, others in ((self.rejected, earlier.rejected), (self.late, earlier.late)):
                for stream, count in others.items():
                    mine[stream] = mine.get(stream, 0) + count

    def _add_stage(self, stage: str, metrics: Mapping[str, Any], begun: float) -> None:
        self.steps.add_stage(int(stage), metrics)
        # What it waits for comes last: whoever sees that must not take a stream for silent that has just been heard.
        for name, value in sorted(metrics.items(), key=lambda metric: metric[0] == WAITS):
            if name == WAITS:
                self._add_waits(stage, None if value is None else int(value))
            elif name.startswith(PASSED):
                source = name.removeprefix(PASSED).partition(".")[2]
                self.passed.setdefault(stage, {})[source] = None if value is None else int(value)
            elif name.startswith(LATE):
                stream = name.removeprefix(LATE).partition(".")[2]
                self.late[stream] = self.late.get(stream, 0) + int(value or 0)
            elif name.startswith(REJECTED):
                stream = name.removeprefix(REJECTED).partition(".")[2]
                self._add_rejected(stream, int(value or 0), int(value or 0))
            elif name.startswith(NEWEST):
                if value is not None:
                    self._add_newest(name.removeprefix(NEWEST).partition(".")[2], int(value))
            elif name.startswith(WORK):
                done = self.work.setdefault(stage, {})
                bucket = int(name.removeprefix(WORK))
                done[bucket] = done.get(bucket, BucketWork()) + BucketWork.unpack(int(value or 0))
            elif name.startswith(HEARD) and value:
                self.heard[name.removeprefix(HEARD).partition(".")[2]] = begun

    def _add_rejected(self, stream: str, count: int, beyond: int) -> None:
        self.rejected[stream] = self.rejected.get(stream, 0) + count
        self.beyond[stream] = self.beyond.get(stream, 0) + beyond

    def _add_newest(self, stream: str, time_: int) -> None:
        before = self.newest.get(stream)
        if before is None or time_ > before:
            self.newest[stream] = time_
            leap = Leap(time_, None if before is None else time_ - before)
            known = self.leaps.get(stream)
            if known is None or known.by is None or (leap.by is not None and leap.by >= known.by):
                self.leaps[stream] = leap

    def _add_waits(self, stage: str, time_: int | None) -> None:
        self.waits[stage] = time_
        if time_ is None:
            self.waiting_since.pop(stage, None)
        elif self.waiting_since.get(stage, (None, 0.0))[0] != time_:
            self.waiting_since[stage] = (time_, time.monotonic())

    def end(self) -> None:
        """Let go of what the query held while it ran."""
        self.is_over = True
        for _, appointment in self._watchers:
            appointment.cancel()
        self.let_go()
        caller, self.caller = self.caller, None
        leave(caller)

    def finish(self, recent: Sequence[SparkEvent], timeout: float) -> None:
        """Count what an ended query did last. The listener hears of it only a moment later."""
        done = [p for p in recent if "addBatch" in p["durationMs"]]
        if done and done[0]["batchId"] > self.last_batch + 1:
            self.ended.wait(timeout)  # so many batches that not all are among the recent ones
        for progress in done:
            self.add(progress)


def _batch_start(stamp: str) -> float:
    """The moment of a time stamp of Spark, by the clock that never goes back: that of a batch's start, here."""
    ago = time.time() - datetime.fromisoformat(stamp).timestamp()
    return time.monotonic() - max(ago, 0.0)


class ProgressListener(QueryEvents):
    """Sends each event to the counts of its query."""

    def __init__(self, spark: SparkSession) -> None:
        self._by_name: dict[str, Counts] = {}
        self._by_run: dict[str, Counts] = {}
        super().__init__(spark)

    def follow(self, name: str, counts: Counts | None = None) -> Counts:
        """Start counting for the query that will run under this name."""
        return self._by_name.setdefault(name, Counts() if counts is None else counts)

    def started(self, event: SparkEvent) -> None:
        """Count for this run."""
        counts = self._by_name.pop(event.get("name") or "", None)
        if counts is not None:
            self._by_run[event["runId"]] = counts
            counts.caller = connection_of_thread()  # the query's own thread says this

    def progressed(self, event: SparkEvent) -> None:
        """Count a micro-batch."""
        counts = self._by_run.get(event["runId"])
        if counts:
            counts.add(event)

    def ended(self, event: SparkEvent) -> None:
        """Let go of what the query held."""
        counts = self._by_run.pop(event["runId"], None)
        if counts:
            counts.ended_at = datetime.now(UTC)
            counts.ended.set()
            counts.end()
