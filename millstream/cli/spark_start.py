"""Spark started in the background, so that the prompt need not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from millstream.errors import MillstreamError


class SparkStart:
    """Starts Spark in the background, once; a start that failed is tried again when Spark is needed."""

    def __init__(self, start: Callable[[], object]) -> None:
        self._start = start
        self._thread: threading.Thread | None = None
        self._problem: Exception | None = None
        self.ready = False

    def begin(self) -> None:
        """Start, unless that is under way or done."""
        if not self.ready and not (self._thread and self._thread.is_alive()):
            self._problem = None
            self._thread = threading.Thread(target=self._run, name="spark-start", daemon=True)
            self._thread.start()

    def wait(self, stopping: threading.Event) -> None:
        """Wait until Spark is there; the start itself goes on if the user does not want to wait."""
        self.begin()
        while self._thread and self._thread.is_alive() and not self.ready:
            self._thread.join(0.1)
            if stopping.is_set():
                raise MillstreamError("stopped")
        if self._problem:
            raise self._problem

    def _run(self) -> None:
        try:
            self._start()
            self.ready = True
        except Exception as problem:
            self._problem = problem
