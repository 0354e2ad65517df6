"""A bounded run: first the data, then the mark that ends the stream and closes every window."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql.streaming.query import StreamingQuery

from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.process.jvm import hang_up
from millstream.spark.run.control import signal
from millstream.spark.run.query_events import SparkEvent, recent_progress
from millstream.spark.stage.control_words import END


class Handle(Protocol):
    """What a running query offers: Spark's own handle, or one that stands for several runs."""

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it still runs."""
        ...

    def exception(self) -> Exception | None:
        """Why it failed."""
        ...

    def awaitTermination(self, timeout: Any = None) -> bool | None:  # noqa: N802
        """Wait for its end."""
        ...

    def processAllAvailable(self) -> None:  # noqa: N802
        """Wait until all that is there has been processed."""
        ...

    def stop(self) -> None:
        """Stop it."""
        ...


def last_of(handle: Handle) -> list[SparkEvent]:
    """What a query did last."""
    if (told := getattr(handle, "recent", None)) is not None:
        return list(told)
    query: Any = handle.query if isinstance(handle, BoundedRun) else handle
    return recent_progress(query)


class BoundedRun:
    """A query that ends itself: when it has processed what is there, it is sent the final mark, and then stopped.

    Spark's own way to run over what is there, `availableNow`, leaves no moment in which to add the mark.
    """

    def __init__(self, query: StreamingQuery, control: Path) -> None:
        self.query = query
        self._control = control
        self._ended = threading.Event()
        self._failure: Exception | None = None
        threading.Thread(target=self._go, name="bounded-run", daemon=True).start()

    def _go(self) -> None:
        try:
            self.query.processAllAvailable()
            if self.query.isActive:
                signal(self._control, END)
                self.query.processAllAvailable()
                self.query.stop()
        except SPARK_ERRORS as problem:
            self._failure = self._reason() or problem
        finally:
            hang_up()
            self._ended.set()

    def _reason(self) -> Exception | None:
        with contextlib.suppress(*SPARK_ERRORS):  # Spark's process may be gone
            return self.query.exception()
        return None

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it still runs."""
        return not self._ended.is_set()

    def exception(self) -> Exception | None:
        """Why it failed."""
        return self._failure

    def awaitTermination(self, timeout: Any = None) -> bool | None:  # noqa: N802
        """Wait for its end; a failure is raised."""
        if not self._ended.wait(timeout):
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def processAllAvailable(self) -> None:  # noqa: N802
        """Wait until all that is there has been processed: until the end."""
        self.awaitTermination()

    def stop(self) -> None:
        """Stop it; windows that are open stay open in the checkpoint."""
        with contextlib.suppress(*SPARK_ERRORS):
            self.query.stop()
        self._ended.wait(30)
