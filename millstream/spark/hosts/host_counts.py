"""The counts of a host, from which each member has its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.catalog.definitions import Stream, TimeStamp
from millstream.spark.metrics import (
    ARRIVALS,
    BYTES,
    HEARD,
    LATE,
    MICROS,
    NEWEST,
    OUT,
    PASSED,
    REJECTED,
    STAGE,
    STATE,
    TUPLES,
    WAITS,
    WORK,
)
from millstream.spark.run.progress import Counts
from millstream.spark.run.query_events import SparkEvent

Mark = Mapping[str, Any]


@dataclass(frozen=True)
class Follower:
    """A member that is counted for: its state, and which of the windows that share it is its own."""

    counts: Counts
    state: str | None
    window: str | None = None


@dataclass
class BatchReport:
    """What was said in a batch: the marks of each state, how many tuples ran ahead, and for whom the batch was."""

    marks: dict[str, list[Mark]] = field(default_factory=dict)
    beyond: int = 0
    followers: Sequence[Follower] = ()

    def add_mark(self, state: str, mark: bytes) -> None:
        """What a bucket says of a state."""
        self.marks.setdefault(state, []).append(json.loads(mark))


@dataclass
class HostCounts(Counts):
    """Counts what Spark tells of a host, for itself and for each member."""

    stream: Stream | None = None
    said: dict[int, BatchReport] = field(default_factory=dict)

    def add(self, progress: SparkEvent) -> None:
        """Count one micro-batch, once its sinks have it."""
        batch = progress["batchId"]
        report = self.said.pop(batch, None) if "addBatch" in progress["durationMs"] else None
        if report is None or self.stream is None:
            super().add(progress)
            return
        metrics = {state: stage_metrics(marks, self.stream) for state, marks in report.marks.items()}
        numbered = {f"{STAGE}{number}": metrics[state] for number, state in enumerate(sorted(metrics), 1)}
        for stage in [stage for stage in self.waits if stage.isdigit() and int(stage) > len(numbered) > 0]:
            self.waits.pop(stage)  # of a state that is gone
        super().add(_add_metrics(progress, numbered, report.beyond, self.stream))
        for follower in report.followers:
            own, marks = {}, report.marks.get(follower.state or "")
            if marks is not None:
                own[f"{STAGE}1"] = _select_window(stage_metrics(marks, self.stream), marks, follower, self.stream)
            beyond = report.beyond if follower.state is None else 0
            follower.counts.add(_add_metrics(progress, own, beyond, self.stream))


def _add_metrics(progress: SparkEvent, stages: Mapping[str, Any], beyond: int, stream: Stream) -> SparkEvent:
    """The progress with what was said of stages, and of tuples that were rejected behind the arrivals."""
    observed = {**progress.get("observedMetrics", {}), **stages}
    if beyond:
        name = f"{ARRIVALS}{stream.name}"
        before = observed.get(name, {"rejected": 0})
        observed[name] = {**before, "rejected": int(before["rejected"] or 0) + beyond, "beyond": beyond}
    return {**progress, "observedMetrics": observed}


def stage_metrics(marks: Sequence[Mark], stream: Stream) -> dict[str, Any]:
    """What the marks of a state say together, in the names that the metrics of a stage have."""
    name = stream.name
    found: dict[str, Any] = {WAITS: _find_least(mark["waits"] for mark in marks)}
    for mark in marks:
        for bucket, done in mark["work"].items():
            found[f"{WORK}{bucket}"] = done
    for total in (BYTES, OUT, STATE):
        found[total] = sum(mark[total] for mark in marks)
    found[f"{TUPLES}0"] = sum(mark["tuples"][0] for mark in marks)
    found[f"{MICROS}0"] = sum(mark["micros"][0] for mark in marks)
    found[f"{PASSED}0.{name}"] = _find_least(mark["passed"][0] for mark in marks)
    found[f"{HEARD}0.{name}"] = max(mark["heard"][0] for mark in marks)
    found[f"{LATE}0.{name}"] = sum(mark["late"][0] for mark in marks)
    if stream.time_stamp is TimeStamp.EXTERNAL:
        found[f"{REJECTED}0.{name}"] = sum(mark["rejected"][0] for mark in marks)
        newest = [mark["newest"][0] for mark in marks if mark["newest"][0] is not None]
        found[f"{NEWEST}0.{name}"] = max(newest, default=None)
    return found


def _select_window(
    metrics: Mapping[str, Any], marks: Sequence[Mark], follower: Follower, stream: Stream
) -> Mapping[str, Any]:
    """The metrics of one of the windows that share panes."""
    if follower.window is None:
        return metrics
    own = [mark["windows"][follower.window] for mark in marks]
    late = sum(one["late"] for one in own)
    return {**metrics, WAITS: _find_least(one["waits"] for one in own), f"{LATE}0.{stream.name}": late}


def _find_least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)
