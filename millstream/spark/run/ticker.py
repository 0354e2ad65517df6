"""The clock of EMIT EVERY ... WALL: marks in the control stream, while rows come."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from millstream.connectors.sinks import QueryPlace
from millstream.plan.algebra import Node, WindowAggregate
from millstream.plan.column_origins import steps
from millstream.spark.run.clock import Clock
from millstream.spark.run.control import signal
from millstream.spark.run.progress import Counts
from millstream.spark.stage.control_words import TICK
from millstream.windows.emit import Pace

LOG = logging.getLogger(__name__)


def pace_of(plan: Node) -> timedelta | None:
    """How often the wall clock is to be told to a plan's stages, if at all."""
    emits = [step.window_aggregate.emit for step in steps(plan) if isinstance(step, WindowAggregate)]
    paces = [timedelta(microseconds=e.every) for e in emits if e is not None and e.pace is Pace.WALL]
    return min(paces, default=None)


def tell_time(clock: Clock, place: QueryPlace, counts: Counts, pace: timedelta) -> None:
    """Send a mark at that pace until the query ends; not while it reads nothing, so that an idle query stays idle."""
    begun, seconds = time.monotonic(), pace.total_seconds()
    told = 0

    def tick() -> float | None:
        nonlocal told
        read = counts.rows_in
        if read == told:
            return None
        if not _send_tick(place):
            return _beat()
        told = read
        return None

    def _beat() -> float:
        """The next moment of the pace."""
        return begun + seconds * ((time.monotonic() - begun) // seconds + 1)

    appointment = clock.appointment(tick)

    def changed() -> None:
        if counts.rows_in != told and appointment.due is None:
            appointment.meet(_beat())

    counts.tell(changed, appointment)


def _send_tick(place: QueryPlace) -> bool:
    try:
        signal(place.control, TICK)
    except OSError as problem:
        LOG.warning("the wall clock could not be told to a query, and will be tried again: %s", problem)
        return False
    return True
