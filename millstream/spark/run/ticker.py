"""The clock of EMIT EVERY ... WALL: marks in the control stream, while rows come."""

from __future__ import annotations

import contextlib
import logging
import threading
from datetime import timedelta

from pyspark.sql.streaming.query import StreamingQuery

from millstream.connectors.sinks import QueryPlace
from millstream.plan.algebra import Node, WindowAggregate
from millstream.plan.column_origins import steps
from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.process.jvm import hung_up
from millstream.spark.run.control import signal
from millstream.spark.run.progress import Counts
from millstream.spark.stage.control_words import TICK
from millstream.windows.emit import Pace

LOG = logging.getLogger(__name__)


def pace_of(plan: Node) -> timedelta | None:
    """How often the wall clock is to be told to a plan's stages, if at all."""
    emits = [step.windowed.emit for step in steps(plan) if isinstance(step, WindowAggregate)]
    paces = [timedelta(microseconds=e.every) for e in emits if e is not None and e.pace is Pace.WALL]
    return min(paces, default=None)


def tell_time(query: StreamingQuery, place: QueryPlace, counts: Counts, pace: timedelta) -> None:
    """Send a mark at that pace until the query ends; not while it reads nothing, so that an idle query stays idle."""

    def go() -> None:
        told = 0
        # A query that fails ends the clock: whoever runs it is told why by its own handle.
        with hung_up(), contextlib.suppress(*SPARK_ERRORS):
            while not query.awaitTermination(pace.total_seconds()):  # type: ignore[arg-type]  # fractions are taken too
                if counts.rows_in != told and _sent(place):
                    told = counts.rows_in

    threading.Thread(target=go, name="wall-clock", daemon=True).start()


def _sent(place: QueryPlace) -> bool:
    try:
        signal(place.control, TICK)
    except OSError as problem:
        LOG.warning("the wall clock could not be told to a query, and will be tried again: %s", problem)
        return False
    return True
