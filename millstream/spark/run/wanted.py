"""What queries over a fed stream wait for, for those that feed it: these have silent inputs, and wait for nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from millstream.spark.run.clock import Appointment, Clock
from millstream.spark.run.progress import Counts


class Wanted:
    """Who reads the fed streams of a mill, and who feeds them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[str, list[tuple[Counts, str | None]]] = {}
        self._feeders: dict[str, list[Appointment]] = {}

    def of(self, stream: str | None) -> int | None:
        """The earliest event time that a query waits for that reads a stream, or that one fed by it does."""
        with self._lock:
            readers = [reader for reader in self._readers.get(stream or "", ()) if not reader[0].is_over]
        waits = [time_ for counts, _ in readers for time_ in list(counts.waits.values())]
        waits += [self.of(into) for _, into in readers if into is not None]
        return min((time_ for time_ in waits if time_ is not None), default=None)

    def feeds(self, stream: str, look: Appointment) -> None:
        """Have someone look who feeds a stream whenever those that read it may wait for something else."""
        with self._lock:
            known = self._feeders.setdefault(stream, [])
            self._feeders[stream] = [one for one in known if not one.cancelled] + [look]

    def reads(self, streams: Iterable[str], counts: Counts, into: str | None, clock: Clock) -> None:
        """A query reads some fed streams, and perhaps feeds another one."""
        fed = sorted(streams)
        with self._lock:
            for stream in fed:
                known = self._readers.setdefault(stream, [])
                self._readers[stream] = [one for one in known if not one[0].is_over] + [(counts, into)]

        def relay() -> None:
            for stream in fed:
                self._look(stream)

        if fed:
            appointment = clock.appointment(relay)
            counts.tell(lambda: appointment.meet(time.monotonic()), appointment)
            if into is not None:
                self.feeds(into, appointment)

    def _look(self, stream: str) -> None:
        with self._lock:
            feeders = list(self._feeders.get(stream, ()))
        for appointment in feeders:
            appointment.meet(time.monotonic())
