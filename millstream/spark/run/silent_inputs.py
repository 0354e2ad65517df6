"""Silent inputs: enabling time stamps, made on demand [Bai 2008].

A stream that is stamped on arrival has come to the present whenever it is asked. One whose time stamps come with its
tuples is trusted for that only after it has been silent for its IDLE AFTER; then it follows the wall clock, less its
slack. It is asked only while a stage holds something back: a query that has nothing to say runs no batches.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.definitions import Stream, TimeStamp
from millstream.catalog.heartbeats import Heartbeats
from millstream.connectors.sinks import QueryPlace
from millstream.plan.algebra import Node, Scan
from millstream.plan.column_origins import STAGES, steps
from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.process.jvm import hung_up
from millstream.spark.run.control import signal
from millstream.spark.run.progress import Counts
from millstream.spark.stage.control_words import enabling

LOG = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
"""How often it is looked whether someone waits; that is but a look into memory."""

PATIENCE_SECONDS = 1.0
"""How long it is waited for an enabling time stamp to have an effect, before another is sent; twice as long each time.

A join passes time on later than it gets it, and other inputs may be in the way.
"""


ARRIVAL_MICROS = 1000
"""How exactly Spark stamps tuples on arrival: what comes with the mark must not be before it."""


@dataclass(frozen=True)
class Quiet:
    """A stream that may fall silent: after how many seconds it is taken to be, and its slack in microseconds."""

    stream: str
    after: float
    slack: int


@dataclass
class Listener:
    """Decides when a silent stream is given a time stamp: at once if someone waits for it, then with growing patience.

    Times are in microseconds of the wall clock; `heard` is in seconds of a clock of its own.
    """

    quiet: Sequence[Quiet]
    begun: float
    _told: dict[str, _Told] = field(default_factory=dict)

    def due(
        self,
        waits: int | None,
        heard: Mapping[str, float],
        clock: float,
        wall: int,
        passed: Mapping[str, int | None] | None = None,
    ) -> list[tuple[str, int]]:
        """The time stamps to send now; `waits` is the time that someone waits for, None if nobody does.

        `passed` is how far streams have come. As long as one is behind that cannot be passed over, none is sent.

        >>> listener = Listener([Quiet("s", after=5.0, slack=1_000_000)], begun=0.0)
        >>> listener.due(10_000_000, {}, clock=4.0, wall=20_000_000)
        []
        >>> listener.due(10_000_000, {}, clock=5.0, wall=20_000_000)
        [('s', 19000000)]
        >>> listener.due(10_000_000, {}, clock=5.1, wall=20_100_000)
        []
        >>> listener.due(10_000_000, {}, clock=6.0, wall=21_000_000)
        [('s', 20000000)]
        >>> listener.due(None, {}, clock=9.0, wall=24_000_000)
        []
        >>> listener.due(30_000_000, {}, clock=9.0, wall=24_000_000)
        []
        >>> listener.due(30_000_000, {}, clock=99.0, wall=99_000_000, passed={"t": 5_000_000})
        []
        """
        quiet = {one.stream: one for one in self.quiet}
        for stream, time_ in (passed or {}).items():
            behind = waits is not None and (time_ is None or time_ < waits)
            one = quiet.get(stream)
            if behind and (one is None or clock - heard.get(stream, self.begun) < one.after):
                return []
        sent = []
        for one in self.quiet if waits is not None else ():
            time_ = wall - one.slack
            silent = clock - heard.get(one.stream, self.begun) >= one.after
            if not silent or waits is None or time_ < waits:
                continue
            told = self._told.get(one.stream)
            if told is None or told.time < waits:
                self._told[one.stream] = _Told(time_, clock, PATIENCE_SECONDS)
            elif clock - told.at >= told.patience:
                self._told[one.stream] = _Told(time_, clock, 2 * told.patience)
            else:
                continue
            sent.append((one.stream, time_))
        return sent


class _Told(NamedTuple):
    """The last time stamp of a stream: what it said, when, and how long it is waited for to have an effect."""

    time: int
    at: float
    patience: float


def quiet_streams(plan: Node) -> tuple[Quiet, ...]:
    """The streams of a plan that may fall silent without holding others back for ever."""
    if not any(isinstance(step, STAGES) for step in steps(plan)):
        return ()
    streams = {step.stream.name: step.stream for step in steps(plan) if isinstance(step, Scan)}
    return tuple(q for q in map(_quiet, streams.values()) if q is not None)


def _quiet(stream: Stream) -> Quiet | None:
    slack = stream.slack // timedelta(microseconds=1)
    if stream.time_stamp is not TimeStamp.EXTERNAL:
        after = stream.idle_after.total_seconds() if stream.idle_after else 0.0
        return Quiet(stream.name, after, slack + ARRIVAL_MICROS)
    return None if stream.idle_after is None else Quiet(stream.name, stream.idle_after.total_seconds(), slack)


def listen(
    query: StreamingQuery, place: QueryPlace, counts: Counts, quiet: Sequence[Quiet], heartbeats: Heartbeats
) -> None:
    """Send time stamps for silent streams until the query ends: when they are needed, or at a pace, or never."""
    if heartbeats.never or not quiet:
        return
    if heartbeats.every is not None:
        beats = [Quiet(q.stream, 0.0, q.slack) for q in quiet]
        _until_the_end(query, heartbeats.every.total_seconds(), lambda: _beat(place, beats))
        return
    if not place.fresh:  # what is held back since the last run is not known yet: ask once
        counts.waits.setdefault("", 0)
    listener = Listener(quiet, time.monotonic())
    streams = {one.stream for one in quiet}

    def look() -> None:
        known = [(w, stage) for stage, w in list(counts.waits.items()) if w is not None]
        waits, stage = min(known, default=(None, ""))
        # What a stage reads from another one is named by its number: nothing is known of streams there.
        passed = {s: t for s, t in counts.passed.get(stage, {}).items() if s in streams}
        due = listener.due(waits, counts.heard, time.monotonic(), time.time_ns() // 1000, passed)
        for stream, moment in due:
            counts.waits.pop("", None)
            signal(place.control, enabling(stream, moment))

    _until_the_end(query, LOOK_SECONDS, look)


def _beat(place: QueryPlace, beats: Sequence[Quiet]) -> None:
    now = time.time_ns() // 1000
    for one in beats:
        signal(place.control, enabling(one.stream, now - one.slack))


def _until_the_end(query: StreamingQuery, seconds: float, step: Callable[[], None]) -> None:
    def go() -> None:
        # A query that fails ends this too: whoever runs it is told why by its own handle.
        with hung_up(), contextlib.suppress(*SPARK_ERRORS):
            while not query.awaitTermination(seconds):  # type: ignore[arg-type]  # fractions are taken too
                try:
                    step()
                except OSError as problem:
                    LOG.warning("a time stamp for a silent stream could not be sent, and will be: %s", problem)

    threading.Thread(target=go, name="silence", daemon=True).start()
