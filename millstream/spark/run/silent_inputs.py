"""Silent inputs: enabling time stamps, made on demand [Bai 2008].

A stream that is stamped on arrival has come to the present whenever it is asked. One whose time stamps come with its
tuples is trusted for that only after it has been silent for its IDLE AFTER; then it follows the wall clock, less its
slack. It is asked only while a stage holds something back: a query that has nothing to say runs no batches.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from millstream.catalog.definitions import Stream, TimeStamp
from millstream.catalog.heartbeats import Heartbeats
from millstream.connectors.sinks import QueryPlace
from millstream.plan.algebra import Node
from millstream.plan.column_origins import STAGES, steps
from millstream.plan.scans import Scan
from millstream.spark.run.clock import Clock, every
from millstream.spark.run.control import signal
from millstream.spark.run.progress import Counts
from millstream.spark.run.wanted import Wanted
from millstream.spark.stage.control_words import enabling_mark

LOG = logging.getLogger(__name__)

LEAST_SECONDS = 0.01
"""The least time between two looks, should the clocks of event time and of waiting not quite agree."""

RETRY_SECONDS = 0.1
"""After how long a mark is tried again that could not be written."""

PATIENCE_SECONDS = 1.0
"""How long it is waited for an enabling time stamp to have an effect, before another is sent; twice as long each time.

A join passes time on later than it gets it, and other inputs may be in the way.
"""


ARRIVAL_MICROS = 1000
"""How exactly Spark stamps tuples on arrival: what comes with the mark must not be before it."""


@dataclass(frozen=True)
class SilentInput:
    """A stream that may fall silent: after how many seconds it is taken to be, and its slack in microseconds."""

    stream: str
    after: float
    slack: int


@dataclass
class Listener:
    """Decides when a silent stream is given a time stamp: at once if someone waits for it, then with growing patience.

    Times are in microseconds of the wall clock; `heard` is in seconds of a clock of its own.
    """

    quiet: Sequence[SilentInput]
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

        >>> listener = Listener([SilentInput("s", after=5.0, slack=1_000_000)], begun=0.0)
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

    def next_look(
        self,
        waits: int | None,
        heard: Mapping[str, float],
        clock: float,
        wall: int,
        passed: Mapping[str, int | None] | None = None,
    ) -> float | None:
        """When a time stamp is due next, if nothing else happens before; None if not until something does.

        >>> listener = Listener([SilentInput("s", after=5.0, slack=1_000_000)], begun=0.0)
        >>> listener.next_look(10_000_000, {}, clock=4.0, wall=20_000_000)
        5.0
        >>> listener.next_look(30_000_000, {}, clock=9.0, wall=24_000_000)
        16.0
        >>> listener.next_look(None, {}, clock=9.0, wall=24_000_000)
        >>> listener.next_look(30_000_000, {}, clock=9.0, wall=24_000_000, passed={"t": 5_000_000})
        """
        if waits is None:
            return None
        quiet = {one.stream: one for one in self.quiet}
        earliest = clock
        for stream, time_ in (passed or {}).items():
            if time_ is None or time_ < waits:
                if (one := quiet.get(stream)) is None:
                    return None  # it is behind, and cannot be passed over
                earliest = max(earliest, heard.get(stream, self.begun) + one.after)
        return min((max(earliest, self._due(one, waits, heard, clock, wall)) for one in self.quiet), default=None)

    def _due(self, one: SilentInput, waits: int, heard: Mapping[str, float], clock: float, wall: int) -> float:
        """When a stream may be given a time stamp: it is silent, its time has come, and patience has ended."""
        silent = heard.get(one.stream, self.begun) + one.after
        come = clock + (waits + one.slack - wall) / 1e6
        told = self._told.get(one.stream)
        patient = clock if told is None or told.time < waits else told.at + told.patience
        return max(silent, come, patient)


class _Told(NamedTuple):
    """The last time stamp of a stream: what it said, when, and how long it is waited for to have an effect."""

    time: int
    at: float
    patience: float


def find_silent_inputs(plan: Node, feeds: bool = False) -> tuple[SilentInput, ...]:
    """The streams of a plan that may fall silent without holding others back for ever.

    Without a stage nobody waits for them, but for those who read what the query `feeds`.
    """
    if not feeds and not any(isinstance(step, STAGES) for step in steps(plan)):
        return ()
    streams = {step.stream.name: step.stream for step in steps(plan) if isinstance(step, Scan)}
    return tuple(q for q in map(quiet_stream, streams.values()) if q is not None)


def quiet_stream(stream: Stream) -> SilentInput | None:
    """A stream, if it may fall silent without holding others back for ever."""
    slack = stream.slack // timedelta(microseconds=1)
    if stream.time_stamp is not TimeStamp.EXTERNAL:
        after = stream.idle_after.total_seconds() if stream.idle_after else 0.0
        return SilentInput(stream.name, after, slack + ARRIVAL_MICROS)
    return None if stream.idle_after is None else SilentInput(stream.name, stream.idle_after.total_seconds(), slack)


Tell = Callable[[int], None]
"""Puts a time stamp into the log of a kept stream: what is on its way there would come too late for one beside it."""


def listen(
    clock: Clock,
    place: QueryPlace,
    counts: Counts,
    quiet: Sequence[SilentInput],
    heartbeats: Heartbeats,
    logs: Mapping[str, Tell],
    into: str | None = None,
    wanted: Wanted | None = None,
) -> None:
    """Send time stamps for silent streams until the query ends: when they are needed, or at a pace, or never.

    Of a query that feeds `into` a stream, they are also needed when it is `wanted` there.
    """

    def tell(stream: str, moment: int) -> None:
        if stream in logs:
            logs[stream](moment)
        else:
            signal(place.control, enabling_mark(stream, moment))

    if heartbeats.never or not quiet:
        return
    if heartbeats.every is not None:
        beats = [SilentInput(q.stream, 0.0, q.slack) for q in quiet]
        counts.tell(lambda: None, every(clock, heartbeats.every.total_seconds(), lambda: _beat(tell, beats)))
        return
    if not place.fresh:  # what is held back since the last run is not known yet: ask once
        counts.waits.setdefault("", 0)
    listener = Listener(quiet, time.monotonic())
    streams = {one.stream for one in quiet}

    def look() -> float | None:
        known = [(w, stage) for stage, w in list(counts.waits.items()) if w is not None]
        if wanted is not None and (needed := wanted.of(into)) is not None:
            known.append((needed, ""))
        waits, stage = min(known, default=(None, ""))
        # What a stage reads from another one is named by its number: nothing is known of streams there.
        passed = {s: t for s, t in counts.passed.get(stage, {}).items() if s in streams}
        now, wall = time.monotonic(), time.time_ns() // 1000
        due = listener.due(waits, counts.heard, now, wall, passed)
        try:
            for stream, moment in due:
                counts.waits.pop("", None)
                tell(stream, moment)
        except OSError as problem:
            LOG.warning("a time stamp for a silent stream could not be sent, and will be: %s", problem)
            return now + RETRY_SECONDS
        again = listener.next_look(waits, counts.heard, now, wall, passed)
        return None if again is None else max(again, now + LEAST_SECONDS)

    appointment = clock.appointment(look)
    if wanted is not None and into is not None:
        wanted.feeds(into, appointment)
    # The look is the clock's: whoever tells that a batch is done must not wait for files.
    counts.tell(lambda: appointment.meet(time.monotonic()), appointment)


def _beat(tell: Callable[[str, int], None], beats: Sequence[SilentInput]) -> None:
    now = time.time_ns() // 1000
    try:
        for one in beats:
            tell(one.stream, now - one.slack)
    except OSError as problem:
        LOG.warning("a time stamp for a silent stream could not be sent, and will be: %s", problem)
