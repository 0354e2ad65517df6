"""The clock of a mill: one thread that does for all queries what is due, and none while nothing is.

Whoever waits for a moment makes an appointment; whoever waits for something to happen makes none, and is told.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.process.jvm import hang_up_at_end

LOG = logging.getLogger(__name__)

THREAD = "clock"


class Appointment:
    """Something to be done at moments that can be changed: at most one of them is to come."""

    def __init__(self, clock: Clock, work: Callable[[], float | None]) -> None:
        self._clock = clock
        self.work = work
        self.due: float | None = None
        self.cancelled = False

    def meet(self, moment: float | None) -> None:
        """Do it at that moment, by the clock that never goes back; None: not until somebody says so again."""
        self._clock.change(self, moment)

    def cancel(self) -> None:
        """Never do it again."""
        self.cancelled = True
        self._clock.change(self, None)


class Clock:
    """Appointments in the order in which they are due. What is done must be brief: all others wait for it."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._heap: list[tuple[float, int, Appointment]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._runs = False

    def appointment(self, work: Callable[[], float | None]) -> Appointment:
        """Something to be done; it gives the moment at which it is to be done again, or None. None is set yet."""
        return Appointment(self, work)

    def change(self, appointment: Appointment, moment: float | None) -> None:
        """Set the moment of an appointment; an earlier one is forgotten."""
        with self._changed:
            if appointment.cancelled:
                moment = None
            if appointment.due == moment:
                return
            appointment.due = moment
            if moment is None:
                return  # what is left of it on the heap says nothing any more
            heapq.heappush(self._heap, (moment, next(self._numbers), appointment))
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._go, name=THREAD, daemon=True).start()
            elif self._heap[0][2] is appointment:
                self._changed.notify()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be done."""
        with self._changed:
            return not any(self._holds(entry) for entry in self._heap)

    def _go(self) -> None:
        with hang_up_at_end():
            while (appointment := self._next()) is not None:
                try:
                    moment = appointment.work()
                except SPARK_ERRORS:  # it has ended: whoever runs it is told why by its own handle
                    appointment.cancel()
                except Exception:
                    LOG.exception("what was due could not be done, and will not be tried again")
                    appointment.cancel()
                else:
                    if moment is not None:
                        self._call_later(appointment, moment)

    def _call_later(self, appointment: Appointment, moment: float) -> None:
        with self._changed:
            if appointment.due is None or appointment.due > moment:
                self.change(appointment, moment)

    def _next(self) -> Appointment | None:
        """The next one that is due, which is waited for; None if there is none, and then this thread ends."""
        with self._changed:
            while True:
                while self._heap and not self._holds(self._heap[0]):
                    heapq.heappop(self._heap)
                if not self._heap:
                    self._runs = False
                    return None
                due, _, appointment = self._heap[0]
                if (left := due - self._now()) <= 0:
                    heapq.heappop(self._heap)
                    appointment.due = None
                    return appointment
                self._changed.wait(left)

    def _holds(self, entry: tuple[float, int, Appointment]) -> bool:
        return entry[2].due == entry[0]


def every(clock: Clock, seconds: float, work: Callable[[], None]) -> Appointment:
    """Something that is done again and again, the first time after a pause."""

    def go() -> float:
        work()
        return time.monotonic() + seconds

    made = clock.appointment(go)
    made.meet(time.monotonic() + seconds)
    return made
