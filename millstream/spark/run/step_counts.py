"""What the steps of a query have done, as its metrics tell: EXPLAIN ANALYZE shows it beside the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.plan.split import SHARE
from millstream.spark.metrics import BYTES, MICROS, OUT, READ, ROWS, STATE, STEP, TUPLES
from millstream.spark.run.task_seconds import TaskSeconds


@dataclass
class FeedCounts:
    """One input of a stage: the tuples that were exchanged, the seconds of work on them before, and files read."""

    tuples: int = 0
    seconds: float = 0.0
    rows: int | None = None
    files: int | None = None


@dataclass
class StageCounts:
    """A stage: bytes of packets that came to it, rows that it answered, bytes that it keeps now, and its inputs."""

    bytes: int = 0
    rows: int = 0
    state: int = 0
    feeds: dict[int, FeedCounts] = field(default_factory=dict)

    def feed(self, number: int) -> FeedCounts:
        """An input."""
        return self.feeds.setdefault(number, FeedCounts())


@dataclass
class StepCounts:
    """The stages by their numbers, and of observed steps the rows that they gave, if to several sinks then to each.

    `tasks` is how long Spark's tasks ran: it is asked for that only where a plan is analyzed.
    """

    stages: dict[int, StageCounts] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    shares: dict[int, dict[int, int]] = field(default_factory=dict)
    tasks: TaskSeconds | None = None

    def stage(self, number: int) -> StageCounts:
        """A stage."""
        return self.stages.setdefault(number, StageCounts())

    def add_stage(self, number: int, metrics: Mapping[str, Any]) -> None:
        """Count what the marks of a stage say of a batch."""
        counts = self.stage(number)
        counts.bytes += int(metrics.get(BYTES) or 0)
        counts.rows += int(metrics.get(OUT) or 0)
        if metrics.get(STATE) is not None:  # a batch in which no bucket had anything to do changes no state
            counts.state = int(metrics[STATE])
        for name, value in metrics.items():
            if name.startswith(TUPLES):
                counts.feed(int(name.removeprefix(TUPLES))).tuples += int(value or 0)
            elif name.startswith(MICROS):
                counts.feed(int(name.removeprefix(MICROS))).seconds += int(value or 0) / 1e6

    def add_read(self, name: str, metrics: Mapping[str, Any]) -> None:
        """Count what a stage has read by itself; readings of Spark's have another name."""
        stage, _, rest = name.removeprefix(READ).partition(".")
        feed, _, stream = rest.partition(".")
        if stream:
            counts = self.stage(int(stage)).feed(int(feed))
            counts.rows = (counts.rows or 0) + int(metrics["rows"] or 0)
            counts.files = (counts.files or 0) + int(metrics["files"] or 0)

    def add_step(self, name: str, metrics: Mapping[str, Any]) -> None:
        """Count the rows of a step."""
        number = int(name.removeprefix(STEP))
        for what, value in metrics.items():
            if what == ROWS:
                self.rows[number] = self.rows.get(number, 0) + int(value or 0)
            else:
                share, shares = int(what.removeprefix(SHARE)), self.shares.setdefault(number, {})
                shares[share] = shares.get(share, 0) + int(value or 0)

    def go_on_from(self, earlier: StepCounts) -> None:
        """Count on from an earlier run."""
        for number, before in earlier.stages.items():
            counts = self.stage(number)
            counts.bytes += before.bytes
            counts.rows += before.rows
            counts.state = counts.state or before.state
            for feed, others in before.feeds.items():
                mine = counts.feed(feed)
                mine.tuples += others.tuples
                mine.seconds += others.seconds
                if others.rows is not None:
                    mine.rows, mine.files = (mine.rows or 0) + others.rows, (mine.files or 0) + (others.files or 0)
